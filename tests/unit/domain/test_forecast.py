"""Expected starts: played forward for the first of a line, a range from totals for the rest, advice for one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from cluster.domain.advice import Advice, advise
from cluster.domain.board import Head, Placed, Quota, Running
from cluster.domain.forecast import Expected, forecast
from cluster.domain.outlook import MOST_AHEAD, Outlook, Source, counted_ahead
from cluster.domain.placement import Board
from cluster.domain.totals import ShapeTotal, range_from_totals
from tests.unit.domain.queue_worlds import BEGIN, World, at, node_of, worlds

LIMITS, HISTORY = Source.TIME_LIMITS, Source.HISTORY


def head(job_id: int, units: int, seconds: float | None = 60.0, source: Source | None = HISTORY) -> Head:
    return Head(job_id, 1, units, position=job_id, seconds=seconds, source=source)


def board(heads: list[Head], runs: list[Running], size: int = 4, limit: int = 4) -> Board:
    used = sum(run.units for run in runs)
    quotas = {1: Quota(limit, used), 2: Quota(size, 0)}
    return Board(heads, [node_of(1, list(range(100, 100 + size - used)), size)], quotas, runs, BEGIN)


def run(job_id: int, units: int, end: int | None, source: Source | None = LIMITS) -> Running:
    return Running(job_id, 1, 1, units, None if end is None else at(end), source=source)


def test_starts_follow_from_end_to_end() -> None:
    found = forecast(board([head(1, 4), head(2, 2), head(3, 2), head(4, 1)], [run(9, 4, 100)]), 1)
    assert found == {
        1: Expected(1, at(100), source=LIMITS),
        2: Expected(2, at(160), source=HISTORY),
        3: Expected(3, at(160), source=HISTORY),
        4: Expected(4, at(220), source=HISTORY),
    }


def test_behind_an_end_that_nobody_knows_nothing_is_told() -> None:
    assert forecast(board([head(1, 4)], [run(9, 4, None)]), 1) == {}
    assert set(forecast(board([head(1, 4, None), head(2, 4)], [run(9, 4, 10)]), 1)) == {1}


def test_only_the_first_are_played() -> None:
    heads = [head(number, 4, 10.0) for number in range(1, 300)]
    found = forecast(board(heads, [run(9, 4, 10)]), 1)
    assert sorted(found) == list(range(1, 201))
    assert found[200].starts_at == at(10 + 199 * 10)


def test_runs_of_different_lengths_make_a_range() -> None:
    runs = [replace(run(9, 4, 100, HISTORY), earliest_at=at(80), latest_at=at(150))]
    found = forecast(board([head(1, 4), head(2, 4)], runs), 1)
    assert found[2] == Expected(2, at(160), at(140), at(210), HISTORY)


@settings(max_examples=60, deadline=None)
@given(worlds)
def test_where_nobody_else_comes_the_forecast_comes_true(world: World) -> None:
    """One workspace, all ends known: what is foretold at the last submission is what happens."""
    world.jobs = [replace(job, workspace=1, second=0) for job in world.jobs]
    world.play()
    told = forecast(world.log[0][0], 1)
    assert {job: at(second) for job, second in world.started.items()} == {
        job: expected.starts_at for job, expected in told.items()
    }


@pytest.mark.parametrize(
    ("ahead", "earliest", "latest"),
    [
        ([ShapeTotal(1, 100, 60.0)], 1500, 1560),
        ([ShapeTotal(4, 10, 60.0)], 600, 2460),
        ([], 0, 0),
    ],
)
def test_deep_in_the_queue_a_range_is_told(ahead: list[ShapeTotal], earliest: int, latest: int) -> None:
    found = range_from_totals(7, ahead, [], 4, BEGIN)
    assert found == Expected(7, None, at(earliest), at(latest), Source.TOTALS)


def test_totals_tell_nothing_where_a_length_is_not_known() -> None:
    assert range_from_totals(7, [ShapeTotal(1, 3, None)], [], 4, BEGIN) is None
    assert range_from_totals(7, [], [run(9, 2, None)], 4, BEGIN) is None
    assert range_from_totals(7, [ShapeTotal(5, 1, 60.0)], [], 4, BEGIN) is None


@pytest.mark.parametrize(
    ("ahead", "told", "is_more"), [(0, 0, False), (1000, 1000, False), (1001, 1000, True)]
)
def test_ahead_is_exact_to_a_thousand(ahead: int, told: int, is_more: bool) -> None:
    assert counted_ahead(Outlook(), ahead) == Outlook(ahead=told, is_more_ahead=is_more)
    assert MOST_AHEAD == 1000


def test_fewer_units_or_a_time_limit_help() -> None:
    """Two units are free for 600 s: then the foremost job is promised all four."""
    first, second = head(1, 4), head(2, 2, None)
    waiting = board([first, second], [run(9, 2, 600)])
    assert advise(waiting, first) == Advice(units=2)
    assert advise(waiting, second) == Advice(time_limit_seconds=600)
    assert advise(waiting, second, grace=30.0) == Advice(time_limit_seconds=540)
    assert advise(waiting, replace(second, seconds=900.0)) is None
    followed = [first, replace(second, limit=570.0)]
    assert any(isinstance(told, Placed) for told in waiting.decide(followed))


def test_who_starts_anyway_needs_no_advice() -> None:
    starting = head(1, 2)
    assert advise(board([starting], []), starting) is None


def test_a_promise_tells_the_start_better_than_a_forecast() -> None:
    told = Expected(1, at(9), source=HISTORY)
    assert told.added_to(Outlook()) == Outlook(starts_at=at(9), source=HISTORY)
    promised = Outlook(starts_at=at(5), source=LIMITS)
    assert told.added_to(promised) == promised
    assert Advice(2, 60).added_to(promised) == replace(promised, helps_units=2, helps_seconds=60)
