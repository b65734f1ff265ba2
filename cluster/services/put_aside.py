"""What was there before a backup was put back: kept for a while, beside the database or among the backups."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cluster.domain.backups import past_restores
from cluster.domain.people import Actor
from cluster.domain.permissions import require_administrator
from cluster.services.context import Cluster
from cluster.settings import Settings

ASIDE = "before-restore"
NAME = re.compile(ASIDE + r"-(\d{8}-\d{6})\.(?:db|sql\.zst)")
BESIDE = ("-wal", "-shm", ".json")
"""What belongs to such a file, by the end of its name."""


@dataclass(frozen=True)
class PutAside:
    """`size` in bytes, with what belongs to it; `kept_until` None: the newest stays."""

    path: Path
    at: datetime
    size: int
    kept_until: datetime | None


def name_aside(settings: Settings, now: datetime) -> str:
    """Without its ending: the moment by the installation's own clock."""
    return f"{ASIDE}-{now.astimezone(settings.zone):%Y%m%d-%H%M%S}"


def list_put_aside(cluster: Cluster, actor: Actor) -> list[PutAside]:
    """Newest first."""
    require_administrator(actor)
    return read_put_aside(cluster.settings)


def read_put_aside(settings: Settings) -> list[PutAside]:
    """Newest first. A name of the hour that a clock shows twice is taken for the first one."""
    folders = (settings.state_dir / "database", settings.backups)
    paths = [path for folder in folders for path in folder.glob(f"{ASIDE}-*") if NAME.fullmatch(path.name)]
    found = sorted(((moment_of(settings, path), path) for path in paths), reverse=True)
    kept = timedelta(days=settings.before_restore_days)
    return [
        PutAside(path, at, sum(each.stat().st_size for each in files_of(path)), at + kept if number else None)
        for number, (at, path) in enumerate(found)
    ]


def files_of(path: Path) -> list[Path]:
    """The file itself is the last: as long as it is there, the others are found."""
    others = [path.with_name(path.name + end) for end in BESIDE]
    return [*(each for each in others if each.exists()), path]


def moment_of(settings: Settings, path: Path) -> datetime:
    """When it was put aside, by its name."""
    match = NAME.fullmatch(path.name)
    assert match is not None
    local = datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=settings.zone)
    return local.astimezone(UTC)


def surplus_aside(settings: Settings, now: datetime) -> list[Path]:
    """What may go, oldest first."""
    found = {each.path: each.at for each in read_put_aside(settings)}
    return past_restores(found, now, settings.before_restore_days)
