"""Workspaces take turns; within one, priority and position decide."""

from datetime import UTC, datetime, timedelta

from cluster.domain.placement.queue_order import group_by_workspace, sort_queue
from cluster.domain.placement.types import JobToPlace, WorkspaceQuota
from cluster.domain.queue.reasons import NoNodes

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def job(job_id: int, workspace: int, minutes: int = 0, **more: int) -> JobToPlace:
    return JobToPlace(job_id, workspace, 1, since=NOW + timedelta(minutes=minutes), **more)


def order(heads: list[JobToPlace], quotas: dict[int, WorkspaceQuota] | None = None) -> list[int]:
    return [head.job_id for head in sort_queue(heads, quotas or {})]


def test_within_a_workspace_priority_goes_before_position_and_position_before_age() -> None:
    heads = [job(1, 1), job(2, 1, position=-1), job(3, 1, priority=5)]
    assert [head.job_id for head in group_by_workspace(heads)[1]] == [3, 2, 1]


def test_each_workspace_has_one_job_before_any_has_a_second() -> None:
    assert order([job(1, 1), job(2, 1), job(3, 1), job(4, 2, minutes=1), job(5, 2, minutes=1)]) == [
        1,
        4,
        2,
        5,
        3,
    ]


def test_who_had_a_turn_lately_goes_behind_who_waits_longer() -> None:
    had_a_turn = {1: WorkspaceQuota(8, 1, NOW + timedelta(minutes=2), 7)}
    assert order([job(1, 1), job(2, 2, minutes=1)], had_a_turn) == [2, 1]
    long_ago = {1: WorkspaceQuota(8, 1, NOW - timedelta(minutes=2), 7)}
    assert order([job(1, 1), job(2, 2, minutes=1)], long_ago) == [1, 2]


def test_a_blocked_job_uses_up_no_turn() -> None:
    blocked = JobToPlace(1, 1, 1, since=NOW, blocked_by=NoNodes(1))
    assert order([blocked, job(2, 1, position=1), job(3, 2, minutes=1)]) == [1, 2, 3]
