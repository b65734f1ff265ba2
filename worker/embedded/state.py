"""The state directory: its folders, who may enter them, and what is installed there for jobs."""

import os
from pathlib import Path

from worker.embedded.places import Places

PRIVATE, OF_NGINX, PASSABLE, READABLE = 0o700, 0o710, 0o711, 0o755
FOLDERS = {
    "database": PRIVATE,
    "redis": PRIVATE,
    "run": PRIVATE,
    "secrets": PRIVATE,
    "log": PRIVATE,
    # Jobs run as users of their own: they pass through to their folders and list nothing on the way.
    "storage": PASSABLE,
    "nginx": OF_NGINX,
    "runtime": READABLE,
}
# A unix socket's path may have 107 bytes; supervisord makes its socket under a longer name first.
LONGEST_SOCKET = 107 - len(".1234567")


def ensure_state(places: Places) -> None:
    """Make what is missing and set the rights anew; safe to repeat."""
    places.state.mkdir(parents=True, exist_ok=True)
    places.state.chmod(PASSABLE)
    for name, mode in FOLDERS.items():
        folder = places.state / name
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)


def is_too_long_for_sockets(places: Places) -> bool:
    return len(str(places.supervisor_socket).encode()) > LONGEST_SOCKET


def closed_folder(places: Places) -> Path | None:
    """As root: the first folder on the way to the state that other users may not pass, as jobs and nginx do."""
    if os.geteuid() != 0:
        return None
    above = [folder for folder in reversed(places.state.parents) if folder.is_dir()]
    return next((folder for folder in above if not folder.stat().st_mode & 0o001), None)


def point_to_environment(places: Places, environment: Path) -> None:
    """Remember the environment that runs now; see Places.environment_pointer."""
    unfinished = places.environment_pointer.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.symlink_to(environment)
    unfinished.rename(places.environment_pointer)
