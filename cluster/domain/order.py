"""The true order of the queue: within a workspace by priority and place, and workspaces take turns."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from cluster.domain.board import Head, Quota

LONG_AGO = datetime.min.replace(tzinfo=UTC)


def is_free_to_start(head: Head) -> bool:
    return head.blocked is None


def in_order(
    heads: Sequence[Head],
    quotas: Mapping[int, Quota],
    takes_turn: Callable[[Head], bool] = is_free_to_start,
) -> list[Head]:
    """One job of each workspace, then a second one of each, and so on.

    First is the workspace whose foremost job has waited longest since it joined the line and since the
    workspace's last turn. That changes neither when somebody else starts nor when somebody joins later, so
    the first stays the first until it starts. Who cannot start whoever ends uses up no turn.
    """
    lines = lines_of(heads)
    turns: list[tuple[int, tuple[datetime, int, int], Head]] = []
    for workspace_id, line in lines.items():
        waiting_since = turn_of(line, quotas.get(workspace_id), takes_turn)
        turn = 0
        for head in line:
            turns.append((turn, waiting_since, head))
            turn += takes_turn(head)
    turns.sort(key=lambda entry: entry[:2])
    return [head for _, _, head in turns]


def lines_of(heads: Sequence[Head]) -> dict[int, list[Head]]:
    """Each workspace's own line."""
    lines: dict[int, list[Head]] = {}
    for head in sorted(heads, key=lambda head: (-head.priority, head.position, head.job_id)):
        lines.setdefault(head.workspace_id, []).append(head)
    return lines


def turn_of(
    line: Sequence[Head], quota: Quota | None, takes_turn: Callable[[Head], bool]
) -> tuple[datetime, int, int]:
    """What workspaces are compared by; job ids decide where no times are known."""
    foremost = next(filter(takes_turn, line), line[0])
    joined = foremost.since or LONG_AGO
    if quota is None or quota.served_at is None or quota.served_at < joined:
        return joined, 0, foremost.job_id
    return quota.served_at, quota.served, foremost.job_id
