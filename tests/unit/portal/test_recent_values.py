"""What every page shows is read once a second by a process, and never older than that."""

import threading
from concurrent.futures import ThreadPoolExecutor

from flask import Flask, g

from cluster.domain.people.actor import Actor
from portal import recent_values
from portal.recent_values import EVERYBODY, RecentValues


def values_at(moment: list[float]) -> tuple[RecentValues, list[float]]:
    """`moment[0]` is what the clock says; the list gets the moments of all reads."""
    return RecentValues(1.0, lambda: moment[0]), []


def test_a_value_is_read_again_after_a_second() -> None:
    moment = [10.0]
    values, reads = values_at(moment)

    def read() -> float:
        reads.append(moment[0])
        moment[0] += 0.4  # A slow read: the value is as old as its beginning.
        return reads[-1]

    assert [values.read(1, "alerts", read), values.read(1, "alerts", read)] == [10.0, 10.0]
    moment[0] = 11.0
    assert values.read(1, "alerts", read) == 11.0
    assert values.read(2, "alerts", read) == 11.4
    assert reads == [10.0, 11.0, 11.4]


def test_a_change_is_seen_by_the_person_at_once() -> None:
    values, _ = values_at([10.0])
    numbers = iter(range(9))
    keys = [(1, "jobs"), (1, "alerts"), (2, "jobs"), (EVERYBODY, "unit")]
    before = [values.read(*key, lambda: next(numbers)) for key in keys]
    values.forget(1, EVERYBODY)
    assert before == [0, 1, 2, 3]
    assert [values.read(*key, lambda: next(numbers)) for key in keys] == [4, 5, 2, 6]


def test_a_value_that_was_read_during_a_change_is_not_kept() -> None:
    values, _ = values_at([10.0])
    numbers = iter(range(9))

    def read_while_it_changes() -> int:
        values.forget(EVERYBODY)
        return next(numbers)

    assert values.read(EVERYBODY, "unit", read_while_it_changes) == 0
    assert [values.read(EVERYBODY, "unit", lambda: next(numbers)) for _ in range(2)] == [1, 1]


def test_many_who_ask_for_the_same_wait_for_one_who_reads_it() -> None:
    values, reads = values_at([10.0])
    is_read, may_end = threading.Event(), threading.Event()

    def read() -> int:
        reads.append(0.0)
        is_read.set()
        assert may_end.wait(30)
        return 7

    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(values.read, EVERYBODY, "usage", read)
        assert is_read.wait(30)
        others = [threads.submit(values.read, EVERYBODY, "usage", read) for _ in range(7)]
        may_end.set()
        assert [each.result() for each in (first, *others)] == [7] * 8
    assert len(reads) == 1


def test_a_request_that_changes_something_forgets_but_not_a_heartbeat() -> None:
    app = Flask("portal")
    recent_values.init_app(app)
    actor = Actor(user_id=7, name="minji", is_administrator=False, address="", request_id="")
    numbers = iter(range(9))

    def ask(method: str, **context: object) -> int:
        with app.test_request_context("/", method=method):
            vars(g).update(context)
            return recent_values.recent_values().read(7, "jobs", lambda: next(numbers))

    assert [ask("GET", actor=actor), ask("GET", actor=actor)] == [0, 0]
    assert [ask("POST", node_token="gcn"), ask("POST", actor=actor), ask("GET", actor=actor)] == [0, 0, 1]
