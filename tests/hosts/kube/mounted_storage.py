"""The storage of hosts where they have it, for one test process and what it starts: nobody else sees it there."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLONE_NEWNS = 0x00020000
"""https://man7.org/linux/man-pages/man2/unshare.2.html"""


@contextmanager
def seen_at(place: Path, folder: Path) -> Iterator[None]:
    """`folder` of this machine, at `place` too. What else is mounted meanwhile is seen; this mount by nobody."""
    have_own_mounts()
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)
        with suppress(OSError):
            place.rmdir()  # Only the empty one that was made for this.


def have_own_mounts() -> None:
    """For this thread and those that it begins; it keeps them to its end."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rslave", "/"], check=True)
