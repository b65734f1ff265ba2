"""Create the state directory with its folders and their modes."""

import os
from pathlib import Path

from worker.bootstrap.paths import InstallationPaths

PRIVATE, OF_NGINX, PASSABLE, READABLE = 0o700, 0o710, 0o711, 0o755
FOLDERS = {
    "database": PRIVATE,
    "redis": PRIVATE,
    "run": PRIVATE,
    "secrets": PRIVATE,
    "log": PRIVATE,
    # Jobs run as users of their own, who may pass through to their folders and list nothing on the way.
    "storage": PASSABLE,
    "nginx": OF_NGINX,
    "runtime": READABLE,
}
# A unix socket's path may have 107 bytes; supervisord makes its socket under a longer name first.
LONGEST_SOCKET = 107 - len(".1234567")


def ensure_state_directory(places: InstallationPaths) -> None:
    """Makes what is missing and sets the rights again; safe to repeat."""
    places.state_dir.mkdir(parents=True, exist_ok=True)
    places.state_dir.chmod(PASSABLE)
    for name, mode in FOLDERS.items():
        folder = places.state_dir / name
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)


def is_path_too_long_for_sockets(places: InstallationPaths) -> bool:
    return len(str(places.supervisor_socket).encode()) > LONGEST_SOCKET


def find_impassable_folder(places: InstallationPaths) -> Path | None:
    """Returns the first folder above the state directory that other users may not pass through. If root starts them,
    jobs and nginx have to pass through.
    """
    if os.geteuid() != 0:
        return None
    above = [folder for folder in reversed(places.state_dir.parents) if folder.is_dir()]
    return next((folder for folder in above if not folder.stat().st_mode & 0o001), None)


def link_environment(places: InstallationPaths, environment: Path) -> None:
    """Remember the environment that runs now; see InstallationPaths.environment_link."""
    unfinished = places.environment_link.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(environment)
    unfinished.rename(places.environment_link)
