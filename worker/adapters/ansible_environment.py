"""Finds the Ansible that the settings name, and refuses one that is too old."""

import re
import subprocess
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from cluster.domain.errors import Unavailable

AT_LEAST = (2, 19)
"""The oldest version that can read the playbooks. The sources map of the playbooks names the same version."""
ANSWERS_WITHIN = 60
"""Seconds."""
VERSION = re.compile(r"^ansible-playbook \[core (\d{1,4})\.(\d{1,4})[^\]]*\]")


def check_ansible(programs: Path) -> Path:
    """Returns the folder's `ansible-playbook`. Raises Unavailable if it does not answer or is too old."""
    program = programs / "ansible-playbook"
    with suppress(OSError):
        found = program.stat()
        return check_ansible_program(program, found.st_ino, found.st_mtime_ns)
    raise Unavailable("ansible.missing", path=str(programs))


@lru_cache(maxsize=8)
def check_ansible_program(program: Path, inode: int, changed: int) -> Path:
    """Asks the program for its version, which takes a third of a second. A good answer is kept until the file
    changes.
    """
    found = VERSION.match(read_ansible_version(program))
    if found is None:
        raise Unavailable("ansible.missing", path=str(program.parent))
    if (int(found[1]), int(found[2])) < AT_LEAST:
        needed = ".".join(str(number) for number in AT_LEAST)
        raise Unavailable("ansible.too_old", path=str(program), found=f"{found[1]}.{found[2]}", needed=needed)
    return program


def read_ansible_version(program: Path) -> str:
    command = [str(program), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWERS_WITHIN)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
