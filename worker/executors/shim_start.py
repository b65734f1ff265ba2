"""The ways to start a shim. This module detaches it by a double fork; others use the fork
server or a systemd unit.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Protocol

from worker.inside import shim_cgroup

SHIM_PYTHON = "/usr/bin/python3"
"""The distribution's interpreter. Root runs it, so its path must not come from PATH."""
START_SECONDS = 20


class ShimStarter(Protocol):
    """A way to start shims. An answer contains the shim's handle, or the reason in `refused` or `text`. Raises
    OSError, TimeoutExpired.
    """

    def start_shim(self, shim: Path, folder: Path) -> dict[str, Any]: ...

    def end_cgroup(self, shim: Path, folder: Path) -> int:
        """Ends and removes a shim's cgroup, and returns how many processes it had.

        Raises OSError, TimeoutExpired, also if a process does not end.
        """
        ...

    def read_confinement(self, shim: Path, uids: tuple[int, int]) -> dict[str, Any]:
        """Returns what a shim that is started in this way can enforce (worker/inside/shim_confinement.py)."""
        ...


class DetachedShimStarter:
    """Starts a process that ends at once. The shim is its child and answers with one line."""

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
    """The command that prints what a shim can enforce on this machine (worker/inside/shim_confinement.py)."""
    return [SHIM_PYTHON, "-I", "-S", str(shim.with_name("shim_confinement.py")), *map(str, uids)]


def parse_confinement(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """The printed answer. If there is none, `failed` has the reason."""
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return {"failed": done.stderr.strip()[-300:] or f"it ended with {done.returncode}"}
    return answer
