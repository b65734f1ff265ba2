"""Find fewer units or a shorter time limit with which a waiting job would start now, by asking placement again."""

from dataclasses import dataclass, replace
from math import isfinite

from cluster.domain.jobs.submission import LONGEST_TIME_LIMIT, SHORTEST_TIME_LIMIT
from cluster.domain.placement.free_capacity import FreeCapacity
from cluster.domain.placement.scheduling_pass import PlacementInput, SchedulingPass
from cluster.domain.placement.types import JobToPlace, Placement
from cluster.domain.queue.start_estimate import StartEstimate


@dataclass(frozen=True)
class StartSuggestion:
    """Either of them alone is enough."""

    units: int | None = None
    time_limit_seconds: int | None = None

    def added_to_estimate(self, outlook: StartEstimate) -> StartEstimate:
        return replace(outlook, helps_units=self.units, helps_seconds=self.time_limit_seconds)


def suggest_changes(board: PlacementInput, head: JobToPlace, grace: float = 0.0) -> StartSuggestion | None:
    """`head` is one of the board's. `grace`: seconds that a job holds its units after its time limit.

    None where neither fewer units nor a time limit would help, or where it starts anyway.
    """
    table = FreeCapacity(board.nodes, board.quotas, board.running, board.now, board.can_spread)
    look = SchedulingPass(table)
    small = replace(head, units=1)  # What could never start stands elsewhere in the order.
    for other in look.sort_by_turn(
        [small if each.job_id == head.job_id else each for each in board.jobs_to_place]
    ):
        if other.job_id == head.job_id:
            break
        look.start(other)
    if head.blocked_by or not look.can_backfill(head):
        return None
    units, seconds = table.most_units_now(head), table.longest_free_seconds(head) - grace
    if look.start(head):
        return None
    advice = StartSuggestion(
        units if units and would_start_now(board, replace(head, units=units)) else None,
        suggest_time_limit(board, head, seconds, grace),
    )
    return advice if advice != StartSuggestion() else None


def suggest_time_limit(board: PlacementInput, head: JobToPlace, length: float, grace: float) -> int | None:
    """The longest one, in whole minutes, that is over before a promised start; none that would cut it off.

    `length`: for how many seconds its units are free.
    """
    if not isfinite(length) or length < SHORTEST_TIME_LIMIT:
        return None
    seconds = min(int(length) // 60 * 60, LONGEST_TIME_LIMIT)
    if head.seconds is not None and head.seconds > seconds:
        return None
    return seconds if would_start_now(board, replace(head, limit_seconds=seconds + grace)) else None


def would_start_now(board: PlacementInput, changed: JobToPlace) -> bool:
    """Whether the job would start at once, were it so."""
    heads = [changed if head.job_id == changed.job_id else head for head in board.jobs_to_place]
    return any(
        isinstance(decision, Placement) and decision.job_id == changed.job_id
        for decision in board.decide(heads)
    )
