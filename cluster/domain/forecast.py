"""When waiting jobs are expected to start: the same placement, played forward from end to end."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from cluster.domain.board import Head, Running
from cluster.domain.look import Look
from cluster.domain.order import in_order, lines_of
from cluster.domain.outlook import Outlook, Source
from cluster.domain.placement import Board
from cluster.domain.table import NO_QUOTA, Table, expected_of

FIRST = 200
"""Further on in a queue, small errors have added up: there a range from the totals is told."""
MOST_OTHERS = 20
"""Workspaces before this one in turn whose foremost job is played too; quotas keep the rest apart."""


class Pace(Enum):
    """How long runs take."""

    EXPECTED = "expected"
    SHORTEST = "shortest"
    LONGEST = "longest"


@dataclass(frozen=True)
class Expected:
    """A start: the likeliest moment, and the range where earlier runs differ in length."""

    job_id: int
    starts_at: datetime | None
    earliest_at: datetime | None = None
    latest_at: datetime | None = None
    source: Source | None = None

    def added_to(self, outlook: Outlook) -> Outlook:
        """A promise that stands already tells the start better."""
        if outlook.starts_at is not None:
            return outlook
        return replace(
            outlook,
            starts_at=self.starts_at,
            earliest_at=self.earliest_at,
            latest_at=self.latest_at,
            source=self.source,
        )


def forecast(board: Board, workspace_id: int, first: int = FIRST) -> dict[int, Expected]:
    """By job id, the first so many of a workspace's line whose start can be told."""
    heads = taking_part(board, workspace_id, first)
    board = replace(board, heads=heads)
    likely = play(board, workspace_id, Pace.EXPECTED)
    is_one_pace = not any(head.shortest or head.longest for head in heads)
    if is_one_pace and not any(may_differ(run) for run in board.running):
        return {job: Expected(job, start, source=source) for job, (start, source) in likely.items()}
    early, late = (play(board, workspace_id, pace) for pace in (Pace.SHORTEST, Pace.LONGEST))
    expected = {}
    for job, (start, source) in likely.items():
        starts = [plan[job][0] for plan in (likely, early, late) if job in plan]
        is_range = min(starts) < max(starts)
        earliest, latest = (min(starts), max(starts)) if is_range else (None, None)
        expected[job] = Expected(job, start, earliest, latest, source)
    return expected


def may_differ(run: Running) -> bool:
    return any(end not in (None, run.ends_at) for end in (run.earliest_at, run.latest_at))


def taking_part(board: Board, workspace_id: int, first: int) -> list[Head]:
    """The workspace's own line, and the foremost jobs of those whose turn comes before it."""
    heads = [head for head in board.heads if head.blocked is None]
    mine = lines_of(heads).get(workspace_id, [])[:first]
    seen: dict[int, Head] = {}
    for head in in_order(heads, board.quotas):
        if head.workspace_id == workspace_id or len(seen) == MOST_OTHERS:
            break
        seen.setdefault(head.workspace_id, head)
    return [*mine, *seen.values()]


def play(board: Board, workspace_id: int, pace: Pace) -> dict[int, tuple[datetime, Source | None]]:
    """(start, where it comes from) by job; who is missing waits for an end that nobody knows."""
    return dict(Play(board, workspace_id, pace).starts())


class Play:
    """Time goes from one end to the next; placement looks again where the workspace's quota has room."""

    def __init__(self, board: Board, workspace_id: int, pace: Pace) -> None:
        self.workspace_id = workspace_id
        running = [at_pace(run, pace) for run in board.running]
        self.table = Table(board.nodes, board.quotas, running, board.now, board.spread)
        self.table.quotas = self.quotas = dict(board.quotas)
        self.waiting = [head_at_pace(head, pace) for head in board.heads]
        self.now = board.now
        self.ends = {run.job_id: run.ends_at for run in running if run.ends_at and run.ends_at > board.now}
        self.sources = {run.job_id: run.source for run in running}
        self.waited_for: set[Source | None] = set()

    def starts(self) -> Iterator[tuple[int, tuple[datetime, Source | None]]]:
        while True:
            mine = [head for head in self.waiting if head.workspace_id == self.workspace_id]
            if mine and min(head.units for head in mine) <= self.table.share(self.workspace_id).free:
                for head in self.start_what_fits():
                    if head.workspace_id == self.workspace_id:
                        yield head.job_id, (self.now, self.source())
            if not mine or not self.ends:
                return
            self.go_to_next_end()

    def start_what_fits(self) -> list[Head]:
        look, started = Look(self.table), []
        for head in look.in_turn(self.waiting):
            placed = look.start(head)
            if placed:
                started.append(head)
                self.note_start(head, None if placed.passes else len(started))
        gone = {head.job_id for head in started}
        self.waiting = [head for head in self.waiting if head.job_id not in gone]
        return started

    def note_start(self, head: Head, turn: int | None) -> None:
        seconds = expected_of(head)
        if seconds is not None:
            self.ends[head.job_id] = self.now + timedelta(seconds=seconds)
        self.sources[head.job_id] = head.source
        if turn is not None:
            quota = self.quotas.get(head.workspace_id, NO_QUOTA)
            self.quotas[head.workspace_id] = replace(quota, served_at=self.now, served=turn)

    def go_to_next_end(self) -> None:
        self.now = min(self.ends.values())
        over = [job_id for job_id, end in self.ends.items() if end == self.now]
        for job_id in over:
            del self.ends[job_id]
            self.waited_for.add(self.sources.get(job_id))
        self.table.go_on(self.now, over)

    def source(self) -> Source | None:
        """Ends by time limits alone are the latest ones; as soon as history has a part it is a guess."""
        for source in (Source.HISTORY, Source.PROGRESS, Source.TIME_LIMITS):
            if source in self.waited_for:
                return source
        return None


def at_pace(run: Running, pace: Pace) -> Running:
    other = {Pace.EXPECTED: None, Pace.SHORTEST: run.earliest_at, Pace.LONGEST: run.latest_at}[pace]
    return replace(run, ends_at=other) if other else run


def head_at_pace(head: Head, pace: Pace) -> Head:
    other = {Pace.EXPECTED: None, Pace.SHORTEST: head.shortest, Pace.LONGEST: head.longest}[pace]
    return replace(head, seconds=other) if other is not None else head
