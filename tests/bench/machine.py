"""The machine under the measurement: what it is, what a durable write costs, and whether others use it."""

import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

BUSY_SHARE = 0.05
"""Of all cores together: above, the machine is not idle."""
LOOK_SECONDS = 5.0
WRITES = 200


class NotIdle(Exception):
    """Somebody else uses the machine: nothing measured now is worth a table."""


def describe() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "kernel": platform.release(),
        "system": system(),
        "python": platform.python_version(),
        "fsync_seconds": fsync_seconds(),
    }


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def system() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def fsync_seconds() -> float:
    """The median of 4 KiB written and synced, where the databases of this run lie."""
    with tempfile.NamedTemporaryFile(prefix="gc-fsync-") as file:
        took = []
        for _ in range(WRITES):
            begun = time.perf_counter()
            file.write(b"\0" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - begun)
    return statistics.median(took)


def busy_share(seconds: float = LOOK_SECONDS) -> float:
    """The share of all cores that is used, and stolen by the host, while we only look."""
    before = psutil.cpu_times()
    time.sleep(seconds)
    after = psutil.cpu_times()
    spent = {name: getattr(after, name) - getattr(before, name) for name in before._fields}
    # The kernel counts guests' time in `user` already.
    total = sum(value for name, value in spent.items() if not name.startswith("guest"))
    return 1.0 - (spent["idle"] + spent["iowait"]) / total if total else 0.0


def check_idle() -> float:
    """The share in use. Raises NotIdle and names who uses it."""
    for process in psutil.process_iter():
        process.cpu_percent()
    share = busy_share()
    if share <= BUSY_SHARE:
        return share
    raise NotIdle(
        f"{share:.0%} of {os.cpu_count()} cores are in use (at most {BUSY_SHARE:.0%} may be), "
        f"load {os.getloadavg()[0]:.2f}: {', '.join(busiest())}"
    )


def busiest(most: int = 4) -> list[str]:
    """Names of the processes that used most since they were looked at before."""
    seen: list[tuple[float, str]] = []
    for process in psutil.process_iter():
        try:
            seen.append((process.cpu_percent(), f"{process.name()} ({process.pid})"))
        except psutil.Error:
            continue
    return [f"{name} {share:.0f} %" for share, name in sorted(seen, reverse=True)[:most] if share > 1]
