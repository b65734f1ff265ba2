"""How a shim is started: detached by a double fork; elsewhere by the fork server or as a systemd unit."""

import json
import subprocess
from pathlib import Path
from typing import Any, Protocol

from worker.inside import shim_cgroup

SHIM_PYTHON = "/usr/bin/python3"
"""The distribution's own: root runs it, so it is never one that a PATH names."""
START_SECONDS = 20


class ShimStarter(Protocol):
    """The shim's answer: its handle, or `refused` or `text` with the reason. Raises OSError, TimeoutExpired."""

    def start_shim(self, shim: Path, folder: Path) -> dict[str, Any]: ...

    def end_cgroup(self, shim: Path, folder: Path) -> int:
        """Ends and removes what a shim's group still holds; how many processes that were.

        Raises OSError, TimeoutExpired, also where something of it does not end.
        """
        ...

    def read_confinement(self, shim: Path, uids: tuple[int, int]) -> dict[str, Any]:
        """What a shim that is launched so can enforce (worker/inside/shim_confinement.py)."""
        ...


class DetachedShimStarter:
    """The process that we start ends at once; the shim is its grandchild and answers in one line."""

    def start_shim(self, shim: Path, folder: Path) -> dict[str, Any]:
        done = subprocess.run(
            [SHIM_PYTHON, "-I", "-S", str(shim), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            start_new_session=True,
            timeout=START_SECONDS,
            check=False,
        )
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            return {"text": f"the shim ended with {done.returncode}"}
        return answer if isinstance(answer, dict) else {}

    def end_cgroup(self, shim: Path, folder: Path) -> int:
        return shim_cgroup.end_recorded_cgroup(str(folder / "control"))

    def read_confinement(self, shim: Path, uids: tuple[int, int]) -> dict[str, Any]:
        done = subprocess.run(
            confinement_command(shim, uids),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            timeout=START_SECONDS,
            check=False,
        )
        return parse_confinement(done)


def confinement_command(shim: Path, uids: tuple[int, int]) -> list[str]:
    """Asks worker/inside/shim_confinement.py what a shim can enforce on this machine."""
    return [SHIM_PYTHON, "-I", "-S", str(shim.with_name("shim_confinement.py")), *map(str, uids)]


def parse_confinement(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """`failed` says why there is no answer."""
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return {"failed": done.stderr.strip()[-300:] or f"it ended with {done.returncode}"}
    return answer
