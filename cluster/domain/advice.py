"""What would let a waiting job start now: computed by asking the same placement again."""

from dataclasses import dataclass, replace
from math import isfinite

from cluster.domain.board import Head, Placed
from cluster.domain.jobs import LONGEST_TIME_LIMIT, SHORTEST_TIME_LIMIT
from cluster.domain.look import Look
from cluster.domain.outlook import Outlook
from cluster.domain.placement import Board
from cluster.domain.table import Table


@dataclass(frozen=True)
class Advice:
    """Either of them alone is enough."""

    units: int | None = None
    time_limit_seconds: int | None = None

    def added_to(self, outlook: Outlook) -> Outlook:
        return replace(outlook, helps_units=self.units, helps_seconds=self.time_limit_seconds)


def advise(board: Board, head: Head, grace: float = 0.0) -> Advice | None:
    """`head` is one of the board's. `grace`: seconds that a job holds its units after its time limit.

    None where neither fewer units nor a time limit would help, or where it starts anyway.
    """
    table = Table(board.nodes, board.quotas, board.running, board.now, board.spread)
    look = Look(table)
    small = replace(head, units=1)  # What could never start stands elsewhere in the order.
    for other in look.in_turn([small if each.job_id == head.job_id else each for each in board.heads]):
        if other.job_id == head.job_id:
            break
        look.start(other)
    if head.blocked or not look.may_pass(head):
        return None
    units, seconds = table.fewer_units(head), table.longest(head) - grace
    if look.start(head):
        return None
    advice = Advice(
        units if units and starts_now(board, replace(head, units=units)) else None,
        time_limit(board, head, seconds, grace),
    )
    return advice if advice != Advice() else None


def time_limit(board: Board, head: Head, length: float, grace: float) -> int | None:
    """The longest one, in whole minutes, that is over before a promised start; none that would cut it off.

    `length`: for how many seconds its units are free.
    """
    if not isfinite(length) or length < SHORTEST_TIME_LIMIT:
        return None
    seconds = min(int(length) // 60 * 60, LONGEST_TIME_LIMIT)
    if head.seconds is not None and head.seconds > seconds:
        return None
    return seconds if starts_now(board, replace(head, limit=seconds + grace)) else None


def starts_now(board: Board, changed: Head) -> bool:
    """Whether the job would start at once, were it so."""
    heads = [changed if head.job_id == changed.job_id else head for head in board.heads]
    return any(
        isinstance(decision, Placed) and decision.job_id == changed.job_id for decision in board.decide(heads)
    )
