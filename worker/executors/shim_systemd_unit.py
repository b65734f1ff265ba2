"""Starts a shim as a transient systemd unit; a child of our service would die with the service's cgroup."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worker.executors.shim_start import SHIM_PYTHON, START_SECONDS, confinement_command, parse_confinement
from worker.inside import shim_cgroup, shim_files

SLICE = "groundcrew-jobs.slice"
PAUSE_SECONDS = 0.02
PROPERTIES = (
    # The shim leaves its parent by a double fork. The unit lives as long as any of its processes.
    "Type=exec",
    "ExitType=cgroup",
    # The shim itself records that the kernel killed a training because memory ran out.
    "OOMPolicy=continue",
    "KillMode=control-group",
    # The shim divides the unit's cgroup into a leaf for itself and a limited group for the program (shim_cgroup.py).
    "Delegate=yes",
    "TimeoutStopSec=20",
    "IgnoreSIGPIPE=no",
    "LimitMEMLOCK=infinity",
    "LimitNOFILE=65536",
    "TasksMax=infinity",
    "UMask=0022",
)


class SystemdShimStarter:
    """Starts shims as units `gc-<job>-<attempt>`, by the numbers of the attempt's folder. systemd refuses a second
    unit of the same name.
    """

    def start_shim(self, shim: Path, folder: Path) -> dict[str, Any]:
        """Waits for the shim's answer in `control/started`, because its output goes to the journal."""
        unit = unit_name(folder)
        begun = run_systemd_tool(systemd_run_command(unit, [SHIM_PYTHON, "-I", "-S", str(shim), str(folder)]))
        deadline = time.monotonic() + START_SECONDS
        while (started := read_started_answer(folder)) is None:
            if begun.returncode != 0:
                return {"text": f"{unit}: {begun.stderr.strip()[-300:]}"}
            if not is_unit_active(unit):
                started = read_started_answer(folder)
                return started or {"text": f"{unit} ended at once; see: journalctl --unit {unit}"}
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(["systemd-run", unit], START_SECONDS)
            time.sleep(PAUSE_SECONDS)
        return started

    def end_cgroup(self, shim: Path, folder: Path) -> int:
        """Ends the cgroup by a transient unit, which runs as root like the shim. This service
        may only read cgroups.
        """
        group = shim_cgroup.read_cgroup_record(str(folder / "control"))
        if group is None or not any(os.path.isdir(part.path) for part in group.folders):  # noqa: PTH112
            return 0
        found = len(group.pids())
        unit = unit_name(folder).replace("gc-", "gc-end-", 1)
        program = [SHIM_PYTHON, "-I", "-S", str(shim.with_name("shim_cgroup.py")), "end", str(folder)]
        ended = run_systemd_tool(
            ["systemd-run", "--quiet", "--collect", "--wait", f"--unit={unit}", "--", *program]
        )
        if ended.returncode != 0:
            raise OSError(f"{unit}: {ended.stderr.strip()[-300:]}")
        return found

    def read_confinement(self, shim: Path, uids: tuple[int, int]) -> dict[str, Any]:
        """Asks in a transient unit, because this service has fewer rights than a shim."""
        command = systemd_run_command("gc-powers.service", confinement_command(shim, uids))
        return parse_confinement(run_systemd_tool([command[0], "--pipe", "--wait", *command[1:]]))


def unit_name(folder: Path) -> str:
    return f"gc-{folder.parent.name}-{folder.name}.service"


def systemd_run_command(unit: str, program: Sequence[str]) -> list[str]:
    properties = [f"--property={each}" for each in (*PROPERTIES, f"Description=Groundcrew job {unit[3:-8]}")]
    kept = ["--setenv=PATH=/usr/bin:/bin", "--setenv=LANG=C.UTF-8"]
    return [
        "systemd-run",
        "--quiet",
        "--collect",
        f"--unit={unit}",
        f"--slice={SLICE}",
        *properties,
        *kept,
        "--",
    ] + [*program]


def read_started_answer(folder: Path) -> dict[str, Any] | None:
    """Returns what the shim wrote into `control/started`, or the marker that the start was prevented. The caller tells
    them apart.
    """
    started = shim_files.read_untrusted_marker(str(folder / "control"), "started")
    if started is None:
        return None
    return started if "pid" in started else {"refused": "already_started"}


def is_unit_active(unit: str) -> bool:
    state = run_systemd_tool(["systemctl", "is-active", unit]).stdout.strip()
    return state in {"active", "activating", "reloading"}


def run_systemd_tool(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        check=False,
    )
