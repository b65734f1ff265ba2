"""A start suggestion lets a waiting job start earlier."""

from dataclasses import replace
from math import inf

import pytest

from cluster.domain.jobs.submission import LONGEST_TIME_LIMIT
from cluster.domain.placement.scheduling_pass import PlacementInput
from cluster.domain.placement.types import JobToPlace, NotPlaced, Placement, RunningOnNode, WorkspaceQuota
from cluster.domain.placement.what_if import suggest_time_limit
from cluster.domain.queue.start_estimate import (
    EstimateSource,
)
from tests.unit.cluster.domain.placement.queue_simulation import BEGIN, at, node_of

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


def helps(waiting: PlacementInput, job: JobToPlace, workspace_id: int = 1) -> tuple[int | None, int | None]:
    decisions = waiting.decide_line(workspace_id)
    told = next(decision for decision in decisions if decision.job_id == job.job_id)
    assert isinstance(told, NotPlaced)
    return told.outlook.helps_units, told.outlook.helps_seconds


def test_fewer_units_or_a_time_limit_help() -> None:
    """Two units are free for 600 s: then the foremost job is promised all four."""
    first, second = head(1, 4), head(2, 2, None)
    waiting = board([first, second], [run(9, 2, 600)])
    assert helps(waiting, first) == (2, None)
    assert helps(waiting, second) == (None, 600)
    graceful = replace(second, grace_seconds=30.0)
    assert helps(board([first, graceful], [run(9, 2, 600)]), graceful) == (None, 540)
    long = replace(second, seconds=900.0)
    assert helps(board([first, long], [run(9, 2, 600)]), long) == (None, None)
    followed = [first, replace(second, limit_seconds=570.0)]
    assert any(isinstance(told, Placement) for told in waiting.decide(followed))


def test_only_of_the_asked_workspace_jobs_behind_others_are_told() -> None:
    first, second = head(1, 4), head(2, 2, None)
    waiting = board([first, second], [run(9, 2, 600)])
    assert helps(waiting, second, workspace_id=2) == (None, None)


def test_who_starts_anyway_needs_no_advice() -> None:
    starting = head(1, 2)
    (decision,) = board([starting], []).decide_line(1)
    assert isinstance(decision, Placement)


@pytest.mark.parametrize(
    ("length", "seconds", "limit"),
    [
        (59.0, None, None),
        (inf, None, None),
        (125.0, None, 120),
        (125.0, 121.0, None),
        (1e12, None, LONGEST_TIME_LIMIT),
    ],
)
def test_a_time_limit_is_whole_minutes_and_long_enough(
    length: float, seconds: float | None, limit: int | None
) -> None:
    assert suggest_time_limit(head(1, 2, seconds), length) == limit
