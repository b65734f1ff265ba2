"""Readers who ask for rights at the same time share one read, and none gets one that began before it asked."""

import asyncio
import threading
from collections.abc import Collection, Mapping
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from cluster.services.people.sessions import SignedInPerson
from portal.live import rights
from portal.live.rights import Rights, RightsReader

NOBODY = Rights(None, {})
SOMEBODY = Rights(SignedInPerson(7, "seoyeon", False, None), {})


class Database:
    """Each read waits for its turn, which the test gives."""

    def __init__(self) -> None:
        self.reads: list[Mapping[str, Collection[int]]] = []
        self.turns = threading.Semaphore(0)
        self.answer = SOMEBODY
        self.error: Exception | None = None

    def read_rights(self, _cluster: object, wanted: Mapping[str, Collection[int]]) -> dict[str, Rights]:
        self.reads.append(wanted)
        assert self.turns.acquire(timeout=20)
        if self.error:
            raise self.error
        return dict.fromkeys(wanted, self.answer)


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    database = Database()
    monkeypatch.setattr(rights, "read_rights", database.read_rights)
    return database


def reader() -> RightsReader:
    nothing: Any = None
    return RightsReader(nothing)


def test_those_who_ask_while_a_read_runs_share_the_next(database: Database) -> None:
    async def ask() -> list[Rights]:
        asked = reader()
        first = asyncio.create_task(asked.read("a", [1]))
        while not database.reads:
            await asyncio.sleep(0)
        others = [
            asyncio.create_task(asked.read(token, [2, job])) for token, job in (("a", 3), ("b", 4), ("a", 5))
        ]
        await asyncio.sleep(0)
        database.turns.release(2)
        return [await task for task in (first, *others)]

    assert asyncio.run(ask()) == [SOMEBODY] * 4
    assert database.reads == [{"a": {1}}, {"a": {2, 3, 5}, "b": {2, 4}}]


def test_what_was_read_before_the_question_is_no_answer(database: Database) -> None:
    async def ask() -> Rights:
        asked = reader()
        early = asyncio.create_task(asked.read("a", []))
        while not database.reads:
            await asyncio.sleep(0)
        late = asyncio.create_task(asked.read("a", []))
        await asyncio.sleep(0)
        database.turns.release()
        assert await early == SOMEBODY
        database.answer = NOBODY
        database.turns.release()
        return await late

    assert asyncio.run(ask()) == NOBODY


def test_who_leaves_takes_the_read_from_nobody_else(database: Database) -> None:
    async def ask() -> Rights:
        asked = reader()
        leaves, stays = (asyncio.create_task(asked.read(token, [])) for token in "ab")
        while not database.reads:
            await asyncio.sleep(0)
        leaves.cancel()
        await asyncio.gather(leaves, return_exceptions=True)
        database.turns.release()
        return await stays

    assert asyncio.run(ask()) == SOMEBODY


def test_a_read_that_fails_is_everybodys_and_the_next_one_is_tried(database: Database) -> None:
    async def ask() -> Rights:
        asked = reader()
        database.error = OperationalError("SELECT", {}, Exception("away"))
        database.turns.release()
        for outcome in await asyncio.gather(asked.read("a", []), asked.read("b", []), return_exceptions=True):
            assert isinstance(outcome, OperationalError)
        database.error = None
        database.turns.release()
        return await asked.read("a", [])

    assert asyncio.run(ask()) == SOMEBODY
