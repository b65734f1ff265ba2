"""A fact is read once while a thread keeps its connection, and again after it has written."""

from collections.abc import Mapping
from typing import Any

from cluster.store.engine import Store
from cluster.store.facts import InstallationFact, read_fact


def write_fact(store: Store, number: int) -> None:
    with store.write() as session:
        session.merge(InstallationFact(name="answer", value={"number": number}))


def test_a_fact_is_parsed_once_per_kept_connection(store: Store) -> None:
    parsed: list[int] = []

    def parse(value: Mapping[str, Any]) -> int:
        parsed.append(value["number"])
        return parsed[-1]

    def read() -> int | None:
        with store.read() as session:
            return read_fact(session, "answer", parse)

    assert read() is None
    write_fact(store, 1)
    assert (read(), read(), parsed) == (1, 1, [1, 1])
    with store.reuse_connection():
        assert (read(), read(), parsed) == (1, 1, [1, 1, 1])
        write_fact(store, 2)
        assert (read(), read(), parsed) == (2, 2, [1, 1, 1, 2])
    write_fact(store, 3)
    with store.reuse_connection():
        assert read() == 3
