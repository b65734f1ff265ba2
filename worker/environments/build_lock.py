"""Allow one build per cache at a time, and turn a disk that fills up during a build into NoSpaceForBuild."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worker.environments.build_steps import BuildStep, ProgressCallback
from worker.environments.command_runner import TICK_SECONDS, end_leftover_processes
from worker.environments.errors import NoSpaceForBuild

LOCK = ".training.lock"


@contextmanager
def hold_build_lock(cache: Path, report: ProgressCallback) -> Iterator[str]:
    """Waits for another build of this cache, ends the processes that a killed build left running, and yields the
    mark.

    The mark names the lock file by device and inode. A container may have another cache under the same path, and the
    processes of its builds are visible from outside.
    """
    with (cache / LOCK).open("w") as lock:
        itself = os.fstat(lock.fileno())
        mark = f"{cache / LOCK}:{itself.st_dev}:{itself.st_ino}"
        while not _try_lock(lock.fileno()):
            report(BuildStep.WAIT, 0.0, "")
            time.sleep(TICK_SECONDS)
        end_leftover_processes(mark)
        yield mark


@contextmanager
def disk_full_as_no_space(cache: Path, log: Path) -> Iterator[None]:
    """Raises NoSpaceForBuild with path and free bytes if the disk becomes full inside the `with` block."""
    try:
        yield
    except NoSpaceForBuild as error:
        if "free" in error.data:
            raise
        raise _no_space(cache, log) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _no_space(cache, log) from error


def _no_space(cache: Path, log: Path) -> NoSpaceForBuild:
    free = shutil.disk_usage(cache).free
    return NoSpaceForBuild("environment.no_space", needed=None, free=free, path=str(cache), log=str(log))


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
