"""A start suggestion lets a waiting job start earlier."""

from dataclasses import replace

from cluster.domain.placement.scheduling_pass import PlacementInput
from cluster.domain.placement.types import JobToPlace, Placement, RunningOnNode, WorkspaceQuota
from cluster.domain.placement.what_if import StartSuggestion, suggest_changes
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


def test_fewer_units_or_a_time_limit_help() -> None:
    """Two units are free for 600 s: then the foremost job is promised all four."""
    first, second = head(1, 4), head(2, 2, None)
    waiting = board([first, second], [run(9, 2, 600)])
    assert suggest_changes(waiting, first) == StartSuggestion(units=2)
    assert suggest_changes(waiting, second) == StartSuggestion(time_limit_seconds=600)
    assert suggest_changes(waiting, second, grace=30.0) == StartSuggestion(time_limit_seconds=540)
    assert suggest_changes(waiting, replace(second, seconds=900.0)) is None
    followed = [first, replace(second, limit_seconds=570.0)]
    assert any(isinstance(told, Placement) for told in waiting.decide(followed))


def test_who_starts_anyway_needs_no_advice() -> None:
    starting = head(1, 2)
    assert suggest_changes(board([starting], []), starting) is None
