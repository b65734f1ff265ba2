"""Gives each clone on a machine numbers of its own for the users and groups of its jobs.

A job of one clone would otherwise be the same user as somebody's job of another clone, whose files and processes it
could then change. Standard library and settings files alone.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.domain.jobs.unix_ids import IDS_PER_INSTALLATION, is_valid_id_base
from worker.bootstrap.paths import InstallationPaths

FIRST_BASE = 100_000
"""What an installation without the setting has."""
REGISTER = "uid-ranges"
"""In the cache folder, which clones share: a file per range, named by its first number; it names the settings file."""


def choose_id_base(places: InstallationPaths) -> int:
    """The lowest range that no other clone has, noted as this one's. Only for root: nobody else changes users.

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
    """One clone chooses at a time."""
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
    """Of clones that were installed before there was a register."""
    for settings in places.state_dir.parent.glob(f"*/{places.settings_file.name}"):
        if settings != places.settings_file and settings.is_file():
            yield read_base(settings)


def read_base(settings: Path) -> int:
    for line in settings.read_text().splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "GROUNDCREW_UID_BASE" and value.strip().isdigit():
            return int(value)
    return FIRST_BASE
