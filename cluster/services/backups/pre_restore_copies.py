"""Lists the copies that a restore makes of what it replaces, and which of them are old enough to be deleted."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cluster.domain.backups.retention import expired_pre_restore_copies
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.services.context import Cluster
from cluster.settings import Settings

PRE_RESTORE_PREFIX = "before-restore"
PRE_RESTORE_NAME = re.compile(PRE_RESTORE_PREFIX + r"-(\d{8}-\d{6})\.(?:db|sql\.zst)")
SIDE_FILE_ENDINGS = ("-wal", "-shm", ".json")
"""The endings of the side files that belong to a copy."""


@dataclass(frozen=True)
class PreRestoreCopy:
    """One copy. `size` is in bytes, with the side files. `kept_until` is None for the newest copy, which stays."""

    path: Path
    at: datetime
    size: int
    kept_until: datetime | None


def pre_restore_name(settings: Settings, now: datetime) -> str:
    """The name without its ending, which contains the local time."""
    return f"{PRE_RESTORE_PREFIX}-{now.astimezone(settings.zone):%Y%m%d-%H%M%S}"


def list_pre_restore_copies(cluster: Cluster, actor: Actor) -> list[PreRestoreCopy]:
    """The copies, newest first."""
    require_administrator(actor)
    return read_pre_restore_copies(cluster.settings)


def read_pre_restore_copies(settings: Settings) -> list[PreRestoreCopy]:
    """The copies, newest first. In the hour that a clock change repeats, a name counts as the first time."""
    folders = (settings.state_dir / "database", settings.backups)
    paths = [
        path
        for folder in folders
        for path in folder.glob(f"{PRE_RESTORE_PREFIX}-*")
        if PRE_RESTORE_NAME.fullmatch(path.name)
    ]
    found = sorted(((time_in_name(settings, path), path) for path in paths), reverse=True)
    kept = timedelta(days=settings.before_restore_days)
    return [
        PreRestoreCopy(
            path, at, sum(each.stat().st_size for each in files_of_copy(path)), at + kept if number else None
        )
        for number, (at, path) in enumerate(found)
    ]


def files_of_copy(path: Path) -> list[Path]:
    """The files of a copy. The copy itself is deleted last, because the others are found by its name."""
    others = [path.with_name(path.name + end) for end in SIDE_FILE_ENDINGS]
    return [*(each for each in others if each.exists()), path]


def time_in_name(settings: Settings, path: Path) -> datetime:
    """Returns the time in the copy's name, at which it was made."""
    match = PRE_RESTORE_NAME.fullmatch(path.name)
    assert match is not None
    local = datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=settings.zone)
    return local.astimezone(UTC)


def list_expired_copies(settings: Settings, now: datetime) -> list[Path]:
    """Lists the copies that may be deleted, oldest first."""
    found = {each.path: each.at for each in read_pre_restore_copies(settings)}
    return expired_pre_restore_copies(found, now, settings.before_restore_days)
