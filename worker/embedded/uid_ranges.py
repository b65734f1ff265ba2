"""Gives each clone on a machine uids and gids of its own for its jobs.

A job of one clone would otherwise be the same user as somebody's job of another clone, whose files and processes it
could then change. The module uses the standard library and reads settings files alone.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.domain.jobs.unix_ids import IDS_PER_INSTALLATION, is_valid_id_base
from worker.bootstrap.paths import InstallationPaths

FIRST_BASE = 100_000
"""The first number of an installation without the setting."""
REGISTER = "uid-ranges"
"""The folder, in the cache that clones share, with one file per range. A file is named by the range's first number and
contains the path of the clone's settings file."""


def choose_id_base(places: InstallationPaths) -> int:
    """Registers the lowest range that no other clone has, and returns its first number.

    Only root can run jobs as other users, so for everybody else it returns `FIRST_BASE` and registers nothing.

    A range whose settings file is gone is free.
    """
    if os.geteuid() != 0:
        return FIRST_BASE
    places.cache_dir.mkdir(parents=True, exist_ok=True)
    with open_register(places.cache_dir) as register:
        taken = {*bases_of_siblings(places), *bases_in(register, places.settings_file)}
        base = FIRST_BASE
        while base in taken and is_valid_id_base(base + IDS_PER_INSTALLATION):
            base += IDS_PER_INSTALLATION
        (register / str(base)).write_text(f"{places.settings_file}\n")
    return base


@contextmanager
def open_register(cache_dir: Path) -> Iterator[Path]:
    """Locks the register, so that one clone chooses at a time."""
    register = cache_dir / REGISTER
    register.mkdir(mode=0o755, exist_ok=True)
    descriptor = os.open(register, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield register
    finally:
        os.close(descriptor)


def bases_in(register: Path, own: Path) -> Iterator[int]:
    for file in register.iterdir():
        settings = Path(file.read_text().strip())
        if file.name.isdigit() and settings != own and settings.is_file():
            yield int(file.name)


def bases_of_siblings(places: InstallationPaths) -> Iterator[int]:
    """Reads the ranges of clones that are older than the register."""
    for settings in places.state_dir.parent.glob(f"*/{places.settings_file.name}"):
        if settings != places.settings_file and settings.is_file():
            yield read_base(settings)


def read_base(settings: Path) -> int:
    for line in settings.read_text().splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "GROUNDCREW_UID_BASE" and value.strip().isdigit():
            return int(value)
    return FIRST_BASE
