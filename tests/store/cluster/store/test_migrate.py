"""An older database is copied and migrated; one that no migration leads on from is refused."""

import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from cluster.domain.errors import GroundcrewError
from cluster.store import migrate
from cluster.store.migrations.draft import draft, next_revision
from cluster.store.sql.sqlite import sqlite_file
from tests.conftest import settings_for
from tests.simultaneous_calls import at_once
from tests.store.schema_description import describe_declared_schema, describe_schema

FIRST = "0101"


def test_a_new_database_is_migrated_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    assert not migrate.is_schema_current(url)
    assert list(tmp_path.iterdir()) == []
    first, second = migrate.upgrade_database(url), migrate.upgrade_database(settings_for(url, tmp_path))
    assert (first.is_new, first.has_changed, first.copy) == (True, True, None)
    assert (second.is_new, second.has_changed, second.copy) == (False, False, None)
    assert migrate.is_schema_current(url)


def test_an_older_database_is_copied_before_it_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "groundcrew.db"
    with monkeypatch.context() as past:
        past.setattr(migrate, "MIGRATIONS", write_history(tmp_path, steps=1))
        migrate.upgrade_database(f"sqlite:///{path}")
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO birds (id) VALUES (7)")
        connection.close()
    monkeypatch.setattr(migrate, "MIGRATIONS", write_history(tmp_path, steps=2))
    result = migrate.upgrade_database(f"sqlite:///{path}")
    assert (result.before, result.after) == ("1", "2")
    assert result.copy is not None
    assert re.fullmatch(r"before-\d+\.\d+\.\d+-\d{8}T\d{6}\.\d{6}Z\.db", result.copy.name)
    assert result.copy.parent == tmp_path
    assert result.copy.stat().st_mode & 0o777 == 0o600
    assert columns_of(result.copy) == ["id"]
    assert columns_of(path) == ["id", "wings"]


def columns_of(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    cursor = connection.execute("SELECT * FROM birds")
    assert cursor.fetchone()[0] == 7
    names = [column[0] for column in cursor.description]
    connection.close()
    return names


def test_a_failing_step_leaves_all_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "groundcrew.db"
    monkeypatch.setattr(migrate, "MIGRATIONS", write_history(tmp_path, steps=1))
    migrate.upgrade_database(f"sqlite:///{path}")
    history = write_history(tmp_path, steps=2)
    monkeypatch.setattr(migrate, "MIGRATIONS", history)
    step = history / "versions" / "step_2.py"
    step.write_text(step.read_text() + "\n    raise RuntimeError('no space')\n")
    with pytest.raises(RuntimeError, match="no space"):
        migrate.upgrade_database(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    assert [line[1] for line in connection.execute("PRAGMA table_info(birds)")] == ["id"]
    assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("1",)
    connection.close()


def test_a_step_that_orphans_rows_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "groundcrew.db"
    history = write_history(tmp_path, steps=1)
    monkeypatch.setattr(migrate, "MIGRATIONS", history)
    migrate.upgrade_database(f"sqlite:///{path}")
    (history / "versions" / "step_2.py").write_text(
        "from alembic import op\nrevision = '2'\ndown_revision = '1'\ndef upgrade():\n"
        "    op.execute('CREATE TABLE eggs (bird_id INTEGER REFERENCES birds (id))')\n"
        "    op.execute('INSERT INTO eggs VALUES (99)')\n"
    )
    with pytest.raises(RuntimeError, match="without their parents"):
        migrate.upgrade_database(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    tables = {line[0] for line in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert tables == {"birds", "alembic_version"}


def test_a_draft_says_what_the_rows_have_and_the_migrations_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = tmp_path / "migrations"
    shutil.copytree(migrate.MIGRATIONS, ours)
    monkeypatch.setattr(migrate, "MIGRATIONS", ours)
    assert next_revision() == f"{int(migrate.head_revision()) + 1:04}"
    nothing_new = draft("Nothing has changed", next_revision())
    assert "pass" in nothing_new.read_text()
    assert migrate.head_revision() == nothing_new.name[:4]
    for step in (ours / "versions").glob("[0-9]*.py"):
        step.unlink()
    nothing = "revision = '0000'\ndown_revision = None\ndef upgrade():\n    pass\n"
    (ours / "versions" / "0000_nothing.py").write_text(nothing)
    everything = draft("All of it", "0001").read_text()
    assert "from sqlalchemy.dialects.postgresql import JSONB" in everything
    assert "UtcDateTime" not in everything
    url = f"sqlite:///{tmp_path}/drafted.db"
    assert migrate.upgrade_database(url).after == "0001"
    engine = create_engine(url)
    with engine.connect() as connection:
        drafted = {line for line in describe_schema(connection) if line[0] != "trigger"}
    engine.dispose()
    declared = describe_declared_schema(f"sqlite:///{tmp_path}/declared.db")
    assert drafted == {line for line in declared if line[0] != "trigger"}


def write_history(folder: Path, steps: int) -> Path:
    """A small history of its own beside ours, run by our env.py."""
    history = folder / f"history-{steps}"
    (history / "versions").mkdir(parents=True)
    (history / "env.py").write_text((migrate.MIGRATIONS / "env.py").read_text())
    acts = ['op.create_table("birds", sa.Column("id", sa.Integer(), primary_key=True))',
            'op.add_column("birds", sa.Column("wings", sa.Integer()))']  # fmt: skip
    for number, act in enumerate(acts[:steps], start=1):
        before = repr(str(number - 1)) if number > 1 else None
        (history / "versions" / f"step_{number}.py").write_text(
            f"import sqlalchemy as sa\nfrom alembic import op\nrevision = '{number}'\n"
            f"down_revision = {before}\ndef upgrade():\n    {act}\n"
        )
    return history


@pytest.mark.parametrize(
    ("found", "code", "limit"),
    [
        ("9999", "database.newer", "known"),
        ("0018", "database.too_old", "oldest"),
        ("0001", "database.too_old", "oldest"),
    ],
)
def test_a_database_that_no_migration_leads_on_from_is_refused_and_left_alone(
    empty_url: str, found: str, code: str, limit: str
) -> None:
    migrate.upgrade_database(empty_url)
    set_revision(empty_url, found)
    before = read_state(empty_url)
    with pytest.raises(GroundcrewError) as refusal:
        migrate.upgrade_database(empty_url)
    assert refusal.value.code == code
    assert refusal.value.data == {
        "found": found,
        limit: FIRST if limit == "oldest" else migrate.head_revision(),
    }
    assert read_state(empty_url) == before
    assert not migrate.is_schema_current(empty_url)


def set_revision(url: str, revision: str) -> None:
    """As another version of this code would have left it."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    engine.dispose()


def read_state(url: str) -> tuple[object, ...]:
    """Revision and schema; of SQLite also the file's bytes and the names of the files beside it."""
    engine = create_engine(url)
    with engine.connect() as connection:
        revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
        schema = describe_schema(connection)
    engine.dispose()
    file = sqlite_file(url)
    return (
        revision,
        schema,
        file and file.read_bytes(),
        file and {each.name for each in file.parent.iterdir()},
    )


def test_revisions_grow_and_none_is_that_of_an_unreleased_version() -> None:
    """Databases of versions that were never released stand at 0001 to 0018."""
    known = migrate.known_revisions()
    assert known[0] == FIRST and known == sorted(set(known))
    assert all(re.fullmatch(r"\d{4}", revision) for revision in known)
    files = [path.name for path in (migrate.MIGRATIONS / "versions").glob("[0-9]*.py")]
    assert sorted(name[:4] for name in files) == known


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (id INTEGER)")
    connection.close()
    with pytest.raises(GroundcrewError) as refusal:
        migrate.upgrade_database(f"sqlite:///{path}")
    assert refusal.value.code == "database.foreign"


def test_two_starters_at_once_migrate_one_database(empty_url: str) -> None:
    results = at_once(
        lambda: migrate.upgrade_database(empty_url), lambda: migrate.upgrade_database(empty_url)
    )
    assert [type(result) for result in results] == [migrate.UpgradeResult] * 2
    assert migrate.is_schema_current(empty_url)
