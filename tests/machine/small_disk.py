"""A small file system of its own, mounted for a test: a tmpfs, or ext4 in a file."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1024**2


@contextmanager
def small_disk(mib: int, kind: str = "tmpfs", at: Path | None = None) -> Iterator[Path]:
    """In a folder of its own, or `at` an empty one. Everybody may enter it, as jobs' own users must.

    Skips where we may not mount anything, and says so.
    """
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    folder = at or Path(tempfile.mkdtemp(prefix="gc-disk-"))
    folder.mkdir(exist_ok=True)
    image = folder.with_name(folder.name + ".img")
    options = ["-t", "tmpfs", "-o", f"size={mib}m,mode=711", "tmpfs"]
    if kind == "ext4":
        with image.open("wb") as file:
            file.truncate(mib * MIB)
        run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(image))
        options = ["-o", "loop", str(image)]
    run("mount", *options, str(folder))
    try:
        folder.chmod(0o711)
        yield folder
    finally:
        run("umount", "--lazy", str(folder))
        folder.rmdir()
        image.unlink(missing_ok=True)


def run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0 and command[0] != "umount":
        pytest.skip(f"{' '.join(command)}: {done.stderr.strip()}")


def fill(file: Path, leave: int = 0) -> None:
    """Until nothing more goes onto its disk, or but for `leave` bytes."""
    free = shutil.disk_usage(file.parent).free
    with file.open("ab") as target:
        os.posix_fallocate(target.fileno(), 0, max(1, free - leave))
    if leave == 0:
        with file.open("ab", buffering=0) as target:
            try:
                while target.write(b"x" * 4096):
                    pass
            except OSError:
                pass
