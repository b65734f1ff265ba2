"""SQLite is copied while others write, and put aside with every commit."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from tests.builders import a_workspace, an_administrator
from worker.backups.databases.sqlite import SqliteDatabase


@pytest.fixture
def lab(light_cluster: Cluster) -> Cluster:
    an_administrator(light_cluster, "o'neil; DROP TABLE users")
    a_workspace(light_cluster, name="vision")
    (light_cluster.settings.state_dir / "database").mkdir()
    return light_cluster


def test_who_writes_meanwhile_waits_for_nothing_and_its_commit_is_in_the_file_afterwards(
    lab: Cluster,
) -> None:
    """Else the next commit would have to take in all that was written while the backup read."""
    database = SqliteDatabase(lab.settings)
    with closing(sqlite3.connect(database.file)) as living:  # A service that runs: closing takes nothing in.
        living.execute("SELECT count(*) FROM users").fetchone()
        with database.open_dump() as reading:
            a_workspace(lab, name="meanwhile")
            text = b"".join(reading.pieces)
        alone = lab.settings.state_dir / "without its log.db"
        alone.write_bytes(database.file.read_bytes())
    assert b"'vision'" in text and b"'meanwhile'" not in text
    with closing(sqlite3.connect(alone)) as found:
        assert found.execute("SELECT name FROM workspaces ORDER BY id").fetchall() == [
            ("vision",),
            ("meanwhile",),
        ]


def test_what_is_put_aside_leaves_every_commit_in_its_place(lab: Cluster) -> None:
    """As a death between putting aside and replacing would find it."""
    database = SqliteDatabase(lab.settings)
    with closing(sqlite3.connect(database.file)) as living:
        living.execute("PRAGMA journal_mode = WAL")
        living.execute("CREATE TABLE kept (word TEXT)")
        living.execute("INSERT INTO kept VALUES ('last')")
        living.commit()
        left = {suffix: Path(f"{database.file}{suffix}").read_bytes() for suffix in ("", "-wal")}
    for suffix, content in left.items():
        Path(f"{database.file}{suffix}").write_bytes(content)  # A process that was killed has closed nothing.
    aside = database.keep_replaced_file("before-restore")
    for file in (
        database.file,
        aside,
    ):  # In this order: they share their bytes until the other takes its place.
        with closing(sqlite3.connect(file)) as found:
            assert found.execute("SELECT word FROM kept").fetchall() == [("last",)]
