"""Asks worker/inside/shim_confinement.py what a shim can enforce on this machine."""

import json
import subprocess
from pathlib import Path
from typing import Any

PYTHON = "/usr/bin/python3"


def confinement_command(shim: Path, uids: tuple[int, int]) -> list[str]:
    return [PYTHON, "-I", "-S", str(shim.with_name("shim_confinement.py")), *map(str, uids)]


def parse_confinement(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """`failed` says why there is no answer."""
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return {"failed": done.stderr.strip()[-300:] or f"it ended with {done.returncode}"}
    return answer
