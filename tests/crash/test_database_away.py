"""The database is away, busy or cut off in the middle: asked again later, nothing half-written (F7)."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

import cluster.store.sql.sqlite
from tests.crash.installation import Ground
from tests.crash.invariants.checker import violations
from tests.crash.invariants.event_bus_check import plain
from tests.crash.scenario.main_scenario import SHORT
from tests.crash.sweep import in_child, list_points, look


@pytest.fixture
def stage(ground: Ground) -> Iterator[Any]:
    ground.put_back()
    yield ground
    ground.put_back()


def ask(ground: Ground, key: str) -> Any:
    body = {"training_id": ground.wide, "name": key, "units": 1, "command": ["train.py"], "launcher": "plain"}
    headers = {"Authorization": f"Bearer {ground.token}", "Idempotency-Key": key}
    return ground.app.test_client().post("/api/v1/jobs", json=body, headers=headers)


@contextmanager
def busy(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody else writes and does not end: on PostgreSQL with a statement timeout."""
    url = ground.cluster.store.url
    if ground.is_sqlite:
        monkeypatch.setattr(cluster.store.sql.sqlite, "BUSY_TIMEOUT_MS", 100)
        with closing(sqlite3.connect(url.database or "", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return

    def impatient(connection: Any, record: object) -> None:
        connection.execute("SET statement_timeout = 200")
        connection.commit()

    ground.cluster.store.close()
    event.listen(ground.cluster.store.engine, "connect", impatient)
    with psycopg.connect(plain(url)) as other:
        other.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()
    event.remove(ground.cluster.store.engine, "connect", impatient)
    ground.cluster.store.close()


def test_a_busy_database_is_said_so_and_the_same_request_succeeds_later(
    stage: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(stage, "before").status_code == 201
    with busy(stage, monkeypatch):
        refused = ask(stage, "later")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert refused.json["code"] == "http.503"
    assert ask(stage, "later").status_code == 201
    assert not violations(look(stage))
    assert sorted(job["name"] for job in look(stage).of("jobs")) == ["before", "later"]


def test_connections_cut_in_the_middle_of_a_transaction_change_nothing(postgresql_ground: Ground) -> None:
    """Each backend is terminated inside a transaction; the loop tries again, the portal's client as well."""
    ground = postgresql_ground
    points = list_points(ground, SHORT)
    for point in (
        "jobs.submission.submit_job committing",
        "queue.dispatch.place_waiting_jobs committing",
        "jobs.attempts.record_end committing",
    ):
        ground.put_back()
        number = points.index(point) + 1
        log = ground.folder / "children.log"
        assert in_child(lambda number=number: play_with_a_cut(ground, number), log) == 0, log.read_text()[
            -3000:
        ]
        assert not violations(look(ground)), point
        assert all(job["ended_at"] for job in look(ground).of("jobs")), point


def play_with_a_cut(ground: Ground, number: int) -> None:
    from tests.crash.interleavings import Cuts
    from tests.crash.sweep import play

    play(ground, SHORT, -1, Cuts(ground, number))
