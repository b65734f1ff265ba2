"""A backup of either kind of database is read back whole; what differs from its manifest, or cannot be, is named."""

import hashlib
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from cluster.domain.errors import Unavailable
from cluster.domain.states import JobState
from cluster.services.audit.seals import read_newest_seal, seal_entries
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.audit import add_audit_entry
from cluster.store.migrate import upgrade_database
from tests.builders import a_job, a_training, a_workspace, actor_of, an_administrator
from tests.conftest import Clock, settings_for
from tests.databases import PostgresqlServer
from worker.backups.databases import postgresql as pg
from worker.backups.drill import drill_newest_backup
from worker.backups.dump import make_backup
from worker.backups.dump_files import write_backup_manifest
from worker.backups.restore import restore_backup


@pytest.fixture
def lab(cluster: Cluster, clock: Clock) -> Cluster:
    """A workspace, and an entry of the audit that is sealed."""
    (cluster.settings.state_dir / "database").mkdir(exist_ok=True)
    person = an_administrator(cluster, "o'neil; DROP TABLE")
    a_workspace(cluster, name="vision")
    with cluster.store.write() as session:
        add_audit_entry(
            session, clock.now, actor_of(person), "workspace.created", 1, note="작업\n\\.\n-- 1\ttab"
        )
    clock.move(minutes=2)
    seal_entries(cluster)
    return cluster


def made(lab: Cluster) -> tuple[dict[str, Any], Path]:
    manifest = make_backup(lab.settings, lab.clock(), read_newest_seal(lab))
    return manifest, lab.settings.backups / manifest["name"]


def text_of(file: Path) -> str:
    return subprocess.run(["zstd", "-dc", str(file)], capture_output=True, text=True, check=True).stdout


def drills_left(lab: Cluster) -> list[str]:
    """Scratch databases and copies that still lie about."""
    url = make_url(lab.settings.owner_url)
    if url.get_backend_name() == "sqlite":
        return [path.name for path in (lab.settings.state_dir / "database").glob(".*")]
    with pg.connect_psycopg(url) as connection:
        found = connection.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{url.database}_%"]
        )
        return [str(name) for (name,) in found.fetchall()]


def test_every_row_is_read_back_and_nothing_is_left_lying_about(lab: Cluster, database_kind: str) -> None:
    manifest, file = made(lab)
    assert (manifest["name"], manifest["database"]) == ("groundcrew-20261120-140200.sql.zst", database_kind)
    assert manifest["rows"]["workspaces"] == 1 and manifest["audit_seal"][0] == 1
    assert "CREATE TABLE" in text_of(file) and file.stat().st_mode & 0o777 == 0o600
    proved = drill_newest_backup(lab.settings, lab.clock())
    assert (proved["problem"], proved["audit"]) == ("", None)
    assert proved["restored_at"] == lab.clock().isoformat()
    assert drills_left(lab) == []


def changed(lab: Cluster, change: Callable[[str], str]) -> dict[str, Any]:
    """The proof of a backup whose text was changed and whose digest was made to fit."""
    manifest, file = made(lab)
    before = text_of(file)
    after = change(before)
    assert after != before
    packed = subprocess.run(["zstd", "-c"], input=after.encode(), capture_output=True, check=True).stdout
    file.write_bytes(packed)
    write_backup_manifest(file.parent, manifest | {"sha256": hashlib.sha256(packed).hexdigest()})
    return drill_newest_backup(lab.settings, lab.clock())


def without_workspace(text: str) -> str:
    return "".join(
        line for line in text.splitlines(keepends=True) if "\tvision\t" not in line and "'vision'" not in line
    )


def unguarded(text: str) -> str:
    """Of a database from which somebody has taken the triggers of the seals away."""
    if "plpgsql" in text:
        return "".join(
            line
            for line in text.splitlines(keepends=True)
            if not line.startswith("CREATE TRIGGER audit_seals")
        )
    begin = text.index("CREATE TRIGGER audit_seals_no_delete")
    return text[:begin] + text[text.index("END;", begin) + 4 :]


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (
            lambda text: text[: len(text) // 2],
            "unreadable|cut|not_ours|other_rows",
        ),
        (without_workspace, "dangling|unreadable"),
        (unguarded, "unguarded"),
        (lambda text: text.replace("CREATE TABLE", "CREATE TABEL"), "unreadable"),
        (lambda text: text.replace("workspace.created", "workspace.deleted"), ""),
    ],
    ids=["cut", "row missing", "guard missing", "not SQL", "audit edited"],
)
def test_what_is_wrong_in_the_text_is_named(
    lab: Cluster, change: Callable[[str], str], problems: str
) -> None:
    proved = changed(lab, change)
    if problems:
        assert proved["problem"]["code"] in [f"broken.{each}" for each in problems.split("|")]
        assert proved["restored_at"] is None
    else:
        assert proved["audit"]["code"] == "audit.entry_edited"
    assert drills_left(lab) == []


def test_a_drill_that_was_killed_leaves_nothing_to_the_next_one(lab: Cluster, database_kind: str) -> None:
    made(lab)
    url = make_url(lab.settings.owner_url)
    if database_kind == "sqlite":
        (lab.settings.state_dir / "database" / ".drill-killed").mkdir()
    else:
        pg.ensure_scratch(url, pg.scratch_url(url))
    assert len(drills_left(lab)) == 1
    drill_newest_backup(lab.settings, lab.clock())
    assert drills_left(lab) == []


def test_rows_that_break_an_invariant_are_no_good_backup(lab: Cluster) -> None:
    a_job(lab, a_training(lab, a_workspace(lab)), state=JobState.RUNNING)
    made(lab)
    assert drill_newest_backup(lab.settings, lab.clock())["problem"]["code"] == "broken.no_attempt"


@pytest.fixture
def humble(postgresql: PostgresqlServer, tmp_path: Path) -> Iterator[Settings]:
    """Of a role that owns two databases and may make none, as on a master."""
    server, name = postgresql, f"humble_{uuid.uuid4().hex[:8]}"
    names = (name, f"{name}_drill")
    with server.connect("postgres") as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
        for each in names:
            connection.execute(f"CREATE DATABASE {each} OWNER {name}")
        url = f"postgresql+psycopg://{name}@/{name}?host={server.folder}"
        upgrade_database(url)
        yield settings_for(url, tmp_path)
        for each in names:
            connection.execute(f"DROP DATABASE IF EXISTS {each} WITH (FORCE)")
        connection.execute(f"DROP ROLE {name}")


def test_a_role_that_may_make_no_database_uses_the_one_that_it_was_given(
    humble: Settings, clock: Clock
) -> None:
    make_backup(humble, clock())
    assert drill_newest_backup(humble, clock())["problem"] == ""
    url = make_url(humble.database_url)
    with pg.connect_psycopg(pg.scratch_url(url)) as drill:
        assert (
            drill.execute("SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchall()
            == []
        )
        with psycopg.connect(
            host=url.query["host"], user="postgres", dbname="postgres", autocommit=True
        ) as root:
            root.execute(f"DROP DATABASE {url.database}_drill WITH (FORCE)")
    with pytest.raises(Unavailable) as none:
        drill_newest_backup(humble, clock())
    assert none.value.code == "backup.no_scratch"


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_what_a_drill_reads_back_is_in_no_log_of_the_server(lab: Cluster) -> None:
    """Whose commits would wait for it; what is to stay has to be in it."""
    kinds = "SELECT DISTINCT relpersistence FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
    seen: list[object] = []

    def look(_: Settings, url: str) -> None:
        with pg.connect_psycopg(make_url(url)) as drill:
            seen.extend(drill.execute(kinds).fetchall())

    _, file = made(lab)
    assert drill_newest_backup(lab.settings, lab.clock(), look)["problem"] == ""
    assert seen == [("u",)]
    lab.store.close()
    restore_backup(lab.settings, file, lab.clock)
    with pg.connect_psycopg(make_url(lab.settings.owner_url)) as living:
        assert living.execute(kinds).fetchall() == [("p",)]


def test_a_row_that_reads_like_a_table_stays_as_it_is() -> None:
    text = b"CREATE TABLE a (b text);\nCOPY a (b) FROM stdin;\nCREATE TABLE c\n\\.\nCREATE TABLE d (e int);\n"
    lines = list(pg.make_tables_unlogged(text.splitlines(keepends=True)))
    assert [line.startswith(b"CREATE UNLOGGED") for line in lines] == [True, False, False, False, True]
    assert b"".join(lines).replace(b"UNLOGGED ", b"") == text


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_pg_dump_of_another_version_writes_nothing(
    lab: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    old.chmod(0o755)
    monkeypatch.setattr(pg, "INSTALLED", tmp_path / "nowhere")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Unavailable) as none:
        made(lab)
    assert none.value.code == "backup.no_program"
    assert read_backups(lab.settings.backups) == []
