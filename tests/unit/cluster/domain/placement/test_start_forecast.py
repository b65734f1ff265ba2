"""Expected starts: played forward for the first of a line, a range from totals for the rest, advice for one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from cluster.domain.placement.scheduling_pass import PlacementInput
from cluster.domain.placement.start_forecast import StartForecast, forecast_starts
from cluster.domain.placement.types import JobToPlace, RunningOnNode, WorkspaceQuota
from cluster.domain.queue.start_estimate import (
    MAX_AHEAD_COUNTED,
    EstimateSource,
    StartEstimate,
    with_jobs_ahead,
)
from tests.unit.cluster.domain.placement.queue_simulation import BEGIN, World, at, node_of, worlds

LIMITS, HISTORY = EstimateSource.TIME_LIMITS, EstimateSource.HISTORY


def head(
    job_id: int, units: int, seconds: float | None = 60.0, source: EstimateSource | None = HISTORY
) -> JobToPlace:
    return JobToPlace(job_id, 1, units, position=job_id, seconds=seconds, estimate_source=source)


def board(
    heads: list[JobToPlace], runs: list[RunningOnNode], size: int = 4, limit: int = 4
) -> PlacementInput:
    used = sum(run.units for run in runs)
    quotas = {1: WorkspaceQuota(limit, used), 2: WorkspaceQuota(size, 0)}
    return PlacementInput(heads, [node_of(1, list(range(100, 100 + size - used)), size)], quotas, runs, BEGIN)


def run(job_id: int, units: int, end: int | None, source: EstimateSource | None = LIMITS) -> RunningOnNode:
    return RunningOnNode(job_id, 1, 1, units, None if end is None else at(end), source=source)


def test_starts_follow_from_end_to_end() -> None:
    found = forecast_starts(board([head(1, 4), head(2, 2), head(3, 2), head(4, 1)], [run(9, 4, 100)]), 1)
    assert found == {
        1: StartForecast(1, at(100), estimate_source=LIMITS),
        2: StartForecast(2, at(160), estimate_source=HISTORY),
        3: StartForecast(3, at(160), estimate_source=HISTORY),
        4: StartForecast(4, at(220), estimate_source=HISTORY),
    }


def test_behind_an_end_that_nobody_knows_nothing_is_told() -> None:
    assert forecast_starts(board([head(1, 4)], [run(9, 4, None)]), 1) == {}
    assert set(forecast_starts(board([head(1, 4, None), head(2, 4)], [run(9, 4, 10)]), 1)) == {1}


def test_only_the_first_are_played() -> None:
    heads = [head(number, 4, 10.0) for number in range(1, 300)]
    found = forecast_starts(board(heads, [run(9, 4, 10)]), 1)
    assert sorted(found) == list(range(1, 51))
    assert found[50].starts_at == at(10 + 49 * 10)


def test_runs_of_different_lengths_make_a_range() -> None:
    runs = [replace(run(9, 4, 100, HISTORY), earliest_at=at(80), latest_at=at(150))]
    found = forecast_starts(board([head(1, 4), head(2, 4)], runs), 1)
    assert found[2] == StartForecast(2, at(160), at(140), at(210), HISTORY)


@settings(max_examples=60, deadline=None)
@given(worlds)
def test_where_nobody_else_comes_the_forecast_comes_true(world: World) -> None:
    """One workspace, all ends known: what is foretold at the last submission is what happens."""
    world.jobs = [replace(job, workspace=1, second=0) for job in world.jobs]
    world.play()
    told = forecast_starts(world.log[0][0], 1)
    assert {job: at(second) for job, second in world.started.items()} == {
        job: expected.starts_at for job, expected in told.items()
    }


@pytest.mark.parametrize(
    ("ahead", "told", "is_more"), [(0, 0, False), (1000, 1000, False), (1001, 1000, True)]
)
def test_ahead_is_exact_to_a_thousand(ahead: int, told: int, is_more: bool) -> None:
    assert with_jobs_ahead(StartEstimate(), ahead) == StartEstimate(ahead=told, is_more_ahead=is_more)
    assert MAX_AHEAD_COUNTED == 1000


def test_a_promise_tells_the_start_better_than_a_forecast() -> None:
    told = StartForecast(1, at(9), estimate_source=HISTORY)
    assert told.added_to_estimate(StartEstimate()) == StartEstimate(starts_at=at(9), source=HISTORY)
    promised = StartEstimate(starts_at=at(5), source=LIMITS)
    assert told.added_to_estimate(promised) == promised
