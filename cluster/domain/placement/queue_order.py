"""The order of the queue: by priority and position within a workspace; workspaces take turns."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter

from cluster.domain.placement.types import JobToPlace, WorkspaceQuota

BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def is_free_to_start(head: JobToPlace) -> bool:
    return head.blocked_by is None


def sort_queue(
    heads: Sequence[JobToPlace],
    quotas: Mapping[int, WorkspaceQuota],
    takes_turn: Callable[[JobToPlace], bool] = is_free_to_start,
) -> list[JobToPlace]:
    """Takes one job of each workspace, then a second one of each, and so on.

    The first workspace is the one whose foremost job has waited longest since it joined the queue and since the
    workspace's last turn. The order changes neither when a job of another workspace starts nor when the clock moves on.
    """
    lines = group_by_workspace(heads)
    turns: list[tuple[int, tuple[datetime, int, int], JobToPlace]] = []
    for workspace_id, line in lines.items():
        waiting_since = turn_key(line, quotas.get(workspace_id), takes_turn)
        turn = 0
        for head in line:
            turns.append((turn, waiting_since, head))
            turn += takes_turn(head)
    turns.sort(key=itemgetter(0, 1))
    return [head for _, _, head in turns]


def group_by_workspace(heads: Sequence[JobToPlace]) -> dict[int, list[JobToPlace]]:
    """Each workspace's own line."""
    lines: dict[int, list[JobToPlace]] = {}
    for head in sorted(heads, key=lambda head: (-head.priority, head.position, head.job_id)):
        lines.setdefault(head.workspace_id, []).append(head)
    return lines


def turn_key(
    line: Sequence[JobToPlace], quota: WorkspaceQuota | None, takes_turn: Callable[[JobToPlace], bool]
) -> tuple[datetime, int, int]:
    """The key by which workspaces are compared; job ids decide between equal times."""
    foremost = next(filter(takes_turn, line), line[0])
    joined = foremost.since or BEFORE_ALL
    if quota is None or quota.last_turn_at is None or quota.last_turn_at < joined:
        return joined, 0, foremost.job_id
    return quota.last_turn_at, quota.last_turn_attempt_id, foremost.job_id
