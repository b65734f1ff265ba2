"""Check Python, host name, disk space and rights of this machine before anything is changed. Standard library only."""

import os
import shutil
import socket
import sys
from pathlib import Path

from worker.bootstrap.paths import InstallationPaths
from worker.bootstrap.system_packages import EMBEDDED_PACKAGES, list_unmet
from worker.bootstrap.terminal import exit_with_error
from worker.bootstrap.virtual_environments import is_built, virtual_environment_path

GIGABYTE, GIBIBYTE = 10**9, 2**30
# Measured on Debian 12: the space on the disk afterwards and during the installation.
PACKAGES_NEED = 0.6 * GIGABYTE
PORTAL_NEEDS = 0.4 * GIGABYTE
TRAINING_NEEDS = 3.0 * GIGABYTE
STATE_NEEDS = 0.5 * GIGABYTE


def check_system_python() -> None:
    """Exits with an error if the pinned packages do not support the interpreter's version."""
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        exit_with_error(
            "This machine's /usr/bin/python3 is Python {version}. Groundcrew runs on 3.11 and 3.12, "
            "the ones of Debian 12 and Ubuntu 24.04.",
            version="{}.{}".format(*sys.version_info),
        )


def check_hostname() -> None:
    """Exits with an error if this machine's own name does not resolve, because ranks need its address."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        exit_with_error(
            "This machine cannot find the address of its own name, {name}, and several ranks meet by it. "
            "Add this line to /etc/hosts, then run the command again:\n  127.0.1.1 {name}",
            name=name,
        )


def check_disk_space(places: InstallationPaths) -> None:
    """Exits with an error, and the numbers, if a disk has not enough space."""
    needs: list[tuple[Path, float]] = [(places.state_dir, STATE_NEEDS)]
    if list_unmet(EMBEDDED_PACKAGES):
        needs.append((Path("/usr"), PACKAGES_NEED))
    if not is_built(
        virtual_environment_path(places.cache_dir, "portal", places.clone / "requirements" / "portal.txt")
    ):
        needs.append((places.cache_dir, PORTAL_NEEDS))
    if not any(is_built(each) for each in places.cache_dir.glob("training-*")):
        needs.append((places.cache_dir, TRAINING_NEEDS))
    for path, need, free in find_disk_shortages(needs):
        exit_with_error(
            "{path} needs {need:.1f} GiB of free disk space and has {free:.1f} GiB. "
            "Make room there, then run the command again. Nothing was changed.",
            path=path,
            need=need / GIBIBYTE,
            free=free / GIBIBYTE,
        )


def find_disk_shortages(needs: list[tuple[Path, float]]) -> list[tuple[Path, float, float]]:
    """Adds up what each file system must hold. Returns the path, needed and free bytes of each one without the room."""
    wanted: dict[int, tuple[Path, float]] = {}
    for path, need in needs:
        there = nearest_existing_folder(path)
        device = there.stat().st_dev
        first, sum_so_far = wanted.get(device, (path, 0.0))
        wanted[device] = (first, sum_so_far + need)
    short = []
    for path, need in wanted.values():
        free = shutil.disk_usage(nearest_existing_folder(path)).free
        if free < need:
            short.append((path, need, float(free)))
    return short


def nearest_existing_folder(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())


def check_folders_writable(places: InstallationPaths) -> None:
    """Exits with an error that names the folders to which this user may not write."""
    for path in (places.state_dir, places.cache_dir):
        there = nearest_existing_folder(path)
        if not os.access(there, os.W_OK | os.X_OK):
            exit_with_error(
                "{path} may not be written by this user. Run the command as root, or give the right.",
                path=there,
            )
