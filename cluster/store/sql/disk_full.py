"""Tells whether a database has failed because its disk is full."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from cluster.store.engine import Store

POSTGRESQL = Path("/var/lib/postgresql")
"""The folder of databases of the distribution's server."""
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL_SQLSTATE = "53100"
"""PostgreSQL's error code (appendix A of its manual). Its driver is imported only where it is used."""
CANNOT_OPEN_CODES = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
"""SQLite's codes, besides SQLITE_FULL, if it cannot create the files beside the database."""
MIN_FREE_BYTES = 256 * 1024
"""Bytes. With less free space SQLite cannot open a database that no other process has open."""


def database_folder(url: str) -> Path | None:
    """The folder of the database's files. None if it is unknown or on another machine."""
    parts = make_url(url)
    if parts.get_backend_name() == "sqlite":
        return Path(parts.database).parent if parts.database else None
    query_host = parts.query.get("host", "")
    host = parts.host or (query_host if isinstance(query_host, str) else "")
    is_here = host.startswith("/") or host in ("", "localhost", "127.0.0.1", "::1")
    return POSTGRESQL if is_here and POSTGRESQL.is_dir() else None


def is_disk_full(error: BaseException, url: str) -> bool:
    """Whether the database could not write or open its files because its disk is full."""
    cause = getattr(error, "orig", None) or error
    if (
        getattr(cause, "sqlstate", None) == DISK_FULL_SQLSTATE
        or getattr(cause, "errno", None) in DISK_FULL_ERRNOS
    ):
        return True
    if not isinstance(cause, sqlite3.Error):
        return False
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_FULL or (code in CANNOT_OPEN_CODES and has_no_room(database_folder(url)))


@contextmanager
def ignoring_disk_full(store: Store) -> Iterator[None]:
    """Ignores a full disk for a write that may be left out, so that a page can be read while the database cannot
    write.
    """
    try:
        yield
    except DBAPIError as error:
        if not is_disk_full(error, store.address):
            raise


def has_no_room(folder: Path | None) -> bool:
    try:
        found = os.statvfs(folder) if folder is not None else None
    except OSError:
        return False
    return found is not None and found.f_bavail * found.f_frsize < MIN_FREE_BYTES
