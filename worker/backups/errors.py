"""Errors of backups: a broken backup, and a full disk, which is reported as Unavailable and not as a broken backup."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.domain.errors import GroundcrewError, Unavailable

SIGNS = ("No space left on device", "database or disk is full")


class BackupBroken(GroundcrewError):
    """A backup is broken. The code and the data are stored in its manifest."""

    def as_data(self) -> dict[str, Any]:
        return {"code": self.code, "data": self.data}


class DiskFull(OSError):
    """A program that we started has reported a full disk."""


def raise_if_disk_full(said: str) -> None:
    """Raises DiskFull if the program's error is that of a full disk."""
    if any(sign in said for sign in SIGNS):
        raise DiskFull(errno.ENOSPC, said)


@contextmanager
def disk_full_as_unavailable(folder: Path) -> Iterator[None]:
    """Raises Unavailable instead of any error that a full disk caused."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC or any(sign in str(error) for sign in SIGNS):
            raise Unavailable("backup.disk_full", folder=str(folder)) from error
        raise
