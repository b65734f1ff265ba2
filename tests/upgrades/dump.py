"""Writes a dump of a small but full database at the newest migration: ``python -m tests.upgrades.dump``.

Once per release, for SQLite and for PostgreSQL, by the product's own writer of backups, to
``tests/data/upgrades/<revision>/<kind>/``. Tests migrate each dump to whatever is the newest migration then, so a dump
of a released version is never written again.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cluster.event_bus import NullEventBus
from cluster.services.audit.seals import read_newest_seal
from cluster.services.context import Cluster
from cluster.store.engine import Store
from cluster.store.migrate import head_revision, upgrade_database
from tests.conftest import Clock, settings_for
from tests.databases import postgresql_server
from tests.upgrades.sample_rows import SampleInstallation
from worker.backups.dump import make_backup

UPGRADES = Path(__file__).parents[1] / "data" / "upgrades"


def write_dump(url: str, state_dir: Path, target: Path) -> None:
    """`url` is that of an empty database; `target` a folder that does not exist yet."""
    settings, clock = settings_for(url, state_dir), Clock()
    upgrade_database(url)
    with closing(Store(url)) as store:
        cluster = Cluster(store, NullEventBus(), settings, clock)
        SampleInstallation(cluster).fill()
        anchor = read_newest_seal(cluster)
    name = make_backup(settings, clock(), anchor)["name"]
    target.mkdir(parents=True)
    for file in (name, f"{name}.json"):
        shutil.copy(settings.backups / file, target / file)
        (target / file).chmod(0o644)


@contextmanager
def sqlite_database(state_dir: Path) -> Iterator[str]:
    (state_dir / "database").mkdir()
    yield f"sqlite:///{state_dir}/database/groundcrew.db"


@contextmanager
def postgresql_database(state_dir: Path) -> Iterator[str]:
    with postgresql_server() as server, server.empty() as url:
        yield url


def main() -> None:
    folder = UPGRADES / head_revision()
    if folder.exists():
        sys.exit(
            f"{folder} exists. If no release has this migration yet, delete the folder and run this again."
        )
    for kind, open_database in (("sqlite", sqlite_database), ("postgresql", postgresql_database)):
        with tempfile.TemporaryDirectory() as state_dir, open_database(Path(state_dir)) as url:
            write_dump(url, Path(state_dir), folder / kind)
        sys.stdout.write(f"{folder / kind}\n")


if __name__ == "__main__":
    main()
