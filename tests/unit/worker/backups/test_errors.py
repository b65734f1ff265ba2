"""A full disk is no fault of the backup: it is reported as something outside that is down."""

import errno
import sqlite3
from pathlib import Path

import pytest

from cluster.domain.errors import Unavailable
from worker.backups.errors import BackupBroken, DiskFull, disk_full_as_unavailable, raise_if_disk_full


@pytest.mark.parametrize(
    ("words", "is_full"),
    [
        ("pg_dump: error: could not write: No space left on device", True),
        ("Error: database or disk is full", True),
        ("permission denied", False),
        ("", False),
    ],
)
def test_the_last_words_of_a_program_tell_of_a_full_disk(words: str, is_full: bool) -> None:
    if not is_full:
        raise_if_disk_full(words)
        return
    with pytest.raises(DiskFull) as raised:
        raise_if_disk_full(words)
    assert raised.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "full"),
        DiskFull(errno.ENOSPC, "full"),
        sqlite3.OperationalError("database or disk is full"),
    ],
)
def test_whatever_met_the_full_disk_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable) as refused, disk_full_as_unavailable(Path("/backups")):
        raise error
    assert (refused.value.code, refused.value.data) == ("backup.disk_full", {"folder": "/backups"})
    assert refused.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EACCES, "denied"), sqlite3.OperationalError("locked"), BackupBroken("broken.rows")],
)
def test_any_other_error_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, disk_full_as_unavailable(Path("/backups")):
        raise error
    assert raised.value is error


def test_a_broken_backup_is_kept_as_code_and_data() -> None:
    assert BackupBroken("broken.other_rows", table="jobs").as_data() == {
        "code": "broken.other_rows",
        "data": {"table": "jobs"},
    }
