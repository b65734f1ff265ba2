"""Puts a backup back as the installation's database: tried and settled in a scratch database, then in place at once."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.crash_points import outside
from cluster.domain.errors import Refused
from cluster.services.backups import NAME, manifest_file, read_manifest
from cluster.services.context import Cluster
from cluster.services.put_aside import ASIDE, name_aside
from cluster.services.restoring import Origin, Settled, settle_restored
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.migrate import head_revision, scripts, upgrade
from worker.audit_anchors import anchors_of
from worker.backups.content import BackupBroken
from worker.backups.disk import told_when_full
from worker.backups.dump import alone, database_of, forget_unfinished, write_out
from worker.backups.invariants import check_invariants
from worker.backups.kinds import Database
from worker.backups.nobody import NoBell
from worker.backups.restore import check_kind, restored

Now = Callable[[], datetime]


@dataclass(frozen=True)
class PutBack:
    """`aside` is where what was there lies now; None: there was nothing."""

    made_at: datetime
    rows: int
    settled: Settled
    aside: Path | None


def put_back(settings: Settings, file: Path, now: Now, holds: bool = True) -> PutBack:
    """Raises Refused for a file that is none, damaged, foreign or newer, Unavailable where something is missing.

    Killed at any moment: either what was there is in its place, or what was put back is, whole and settled.
    """
    manifest, database = read_own(file), database_of(settings)
    with alone(settings), told_when_full(settings.backups):
        forget_unfinished(settings)
        database.check_unused()
        try:
            check_kind(settings, manifest)
            with restored(settings, file, manifest, is_to_stay=True) as scratch:
                settled = settle(settings, scratch.url, manifest, now, holds)
                written = keep_aside(settings, database, now())
                name = name_aside(settings, now())
                with outside("backups.take_over"):
                    kept = database.take_over(scratch, name)
        except BackupBroken as broken:
            raise Refused("file", "restore.damaged", name=file.name, problem=broken.as_data()) from broken
    made_at = datetime.fromisoformat(manifest["made_at"])
    return PutBack(made_at, sum(manifest["rows"].values()), settled, kept or written)


def read_own(file: Path) -> dict[str, Any]:
    """Its manifest. Raises Refused."""
    if not file.is_file():
        raise Refused("file", "restore.no_file", file=str(file))
    if not NAME.fullmatch(file.name):
        raise Refused("file", "restore.foreign", name=file.name)
    path = manifest_file(file.parent, file.name)
    if read_manifest(path) is None:
        raise Refused("file", "restore.no_manifest", manifest=path.name)
    manifest: dict[str, Any] = json.loads(path.read_text())
    if manifest["revision"] not in {script.revision for script in scripts().walk_revisions()}:
        found, known = manifest["revision"], head_revision()
        raise Refused("file", "restore.newer", name=file.name, found=found, known=known)
    return manifest


def settle(settings: Settings, url: str, manifest: dict[str, Any], now: Now, holds: bool) -> Settled:
    upgrade(url)
    made_at = datetime.fromisoformat(manifest["made_at"])
    origin = Origin(manifest["name"], manifest["sha256"], made_at, last_job_on_disk(settings))
    anchors = anchors_of(settings)
    store = Store(url)
    with closing(store):
        scratch = Cluster(store, NoBell(), replace(settings, database_url=url), now)
        settled = settle_restored(scratch, origin, anchors, holds)
        with store.look() as connection:
            check_invariants(connection)
    return settled


def last_job_on_disk(settings: Settings) -> int:
    """The highest number of a job whose folder lies in the storage: none of them is given out again."""
    folders = settings.storage_dir.glob("workspaces/*/jobs/*")
    return max((int(each.name) for each in folders if re.fullmatch("[0-9]{1,9}", each.name)), default=0)


def keep_aside(settings: Settings, database: Database, now: datetime) -> Path | None:
    """Written out as SQL where it would be gone otherwise. Raises Unavailable where it is no database of ours."""
    if database.keeps_itself():
        return None
    return settings.backups / str(write_out(settings, now, None, prefix=ASIDE)["name"])
