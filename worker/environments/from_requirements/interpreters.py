"""Find the Python interpreters of this machine that environments may have."""

import os
import re
from pathlib import Path

from cluster.domain.environments.choices import OLDEST_PYTHON, is_too_old
from cluster.domain.errors import Refused
from worker.environments.build_platform import PYTHON, read_python_facts

FOLDERS = (Path("/usr/bin"), Path("/usr/local/bin"))
NAME = re.compile(r"python(\d\.\d{1,2})")


def find_interpreter(wanted: str) -> tuple[Path, str]:
    """(path, version as 3.11) of the wanted version, or of the distribution's Python if `wanted` is empty. Raises
    Refused on `python`.
    """
    if not wanted:
        return PYTHON, read_python_facts(PYTHON)["version"]
    found = list_interpreters()
    if wanted not in found:
        raise Refused("python", "environment.python_missing", version=wanted, there=sorted(found))
    if is_too_old(wanted):
        raise Refused(
            "python", "environment.python_too_old", version=wanted, least=".".join(map(str, OLDEST_PYTHON))
        )
    return found[wanted], wanted


def list_interpreters() -> dict[str, Path]:
    """Lists the interpreters by version. Every user may run them."""
    found: dict[str, Path] = {}
    for folder in FOLDERS:
        for path in sorted(folder.glob("python*")):
            match = NAME.fullmatch(path.name)
            if match and os.access(path, os.X_OK):
                found.setdefault(match[1], path)
    return found
