"""Tests write in memory: thousands of small databases that sync each commit wait for the disk alone.

What has to be durable is tried by processes that die, and none of them takes the machine with it.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 2 * 1024**3


def write_to_memory() -> None:
    """For this process and all that it starts; nothing changes where memory is short or programs cannot run in it."""
    if "TMPDIR" not in os.environ and is_roomy(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # It is looked up again.


def is_roomy(folder: Path) -> bool:
    if not folder.is_dir() or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free >= NEEDED_BYTES
