"""Forecast when waiting jobs start by running placement again at each expected end of a running job."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from cluster.domain.placement.free_capacity import NO_QUOTA, FreeCapacity, expected_seconds
from cluster.domain.placement.queue_order import group_by_workspace, sort_queue
from cluster.domain.placement.scheduling_pass import PlacementInput, SchedulingPass
from cluster.domain.placement.types import JobToPlace, RunningOnNode
from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate

MAX_FORECAST_JOBS = 50
"""The jobs at the front of a line whose start is forecast. For jobs further back small errors add up, so they get a
range that is computed from the totals.
"""
MAX_OTHER_WORKSPACES = 20
"""The number of workspaces whose turn comes before and whose foremost job is simulated too. Quotas separate the other
workspaces.
"""


class DurationCase(Enum):
    """The expected durations of runs."""

    EXPECTED = "expected"
    SHORTEST = "shortest"
    LONGEST = "longest"


@dataclass(frozen=True)
class StartForecast:
    """A start: the likeliest moment, and its range if earlier runs differ in length."""

    job_id: int
    starts_at: datetime | None
    earliest_at: datetime | None = None
    latest_at: datetime | None = None
    estimate_source: EstimateSource | None = None

    def added_to_estimate(self, outlook: StartEstimate) -> StartEstimate:
        """Adds the forecast to the estimate. If there is a reservation, its moment is the better estimate and stays."""
        if outlook.starts_at is not None:
            return outlook
        return replace(
            outlook,
            starts_at=self.starts_at,
            earliest_at=self.earliest_at,
            latest_at=self.latest_at,
            source=self.estimate_source,
        )


def forecast_starts(
    board: PlacementInput, workspace_id: int, first: int = MAX_FORECAST_JOBS
) -> dict[int, StartForecast]:
    """Returns job id → forecast for the first `first` jobs of a workspace's line whose start can be forecast."""
    steps = forecast_in_steps(board, workspace_id, first)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: dict[int, StartForecast] = end.value
            return found


def forecast_in_steps(
    board: PlacementInput, workspace_id: int, first: int = MAX_FORECAST_JOBS
) -> Generator[None, None, dict[int, StartForecast]]:
    """Does what `forecast_starts` does, and can be paused after each expected end of a job, because a long line takes a
    second.
    """
    heads = simulated_jobs(board, workspace_id, first)
    board = replace(board, jobs_to_place=heads)
    likely = yield from simulate_starts(board, workspace_id, DurationCase.EXPECTED)
    is_one_pace = not any(head.shortest_seconds or head.longest_seconds for head in heads)
    if is_one_pace and not any(has_duration_range(run) for run in board.running):
        return {
            job: StartForecast(job, start, estimate_source=source) for job, (start, source) in likely.items()
        }
    early = yield from simulate_starts(board, workspace_id, DurationCase.SHORTEST)
    late = yield from simulate_starts(board, workspace_id, DurationCase.LONGEST)
    expected = {}
    for job, (start, source) in likely.items():
        starts = [plan[job][0] for plan in (likely, early, late) if job in plan]
        is_range = min(starts) < max(starts)
        earliest, latest = (min(starts), max(starts)) if is_range else (None, None)
        expected[job] = StartForecast(job, start, earliest, latest, source)
    return expected


def has_duration_range(run: RunningOnNode) -> bool:
    return any(end not in (None, run.ends_at) for end in (run.earliest_at, run.latest_at))


def simulated_jobs(board: PlacementInput, workspace_id: int, first: int) -> list[JobToPlace]:
    """The workspace's own line, and the foremost jobs of those whose turn comes before it."""
    heads = [head for head in board.jobs_to_place if head.blocked_by is None]
    mine = group_by_workspace(heads).get(workspace_id, [])[:first]
    seen: dict[int, JobToPlace] = {}
    for head in sort_queue(heads, board.quotas):
        if head.workspace_id == workspace_id or len(seen) == MAX_OTHER_WORKSPACES:
            break
        seen.setdefault(head.workspace_id, head)
    return [*mine, *seen.values()]


SimulatedStarts = dict[int, tuple[datetime, EstimateSource | None]]
"""(start, its source) by job. A job that is missing waits for an unknown end."""


def simulate_starts(
    board: PlacementInput, workspace_id: int, pace: DurationCase
) -> Generator[None, None, SimulatedStarts]:
    """Runs the simulation, and pauses after each end."""
    simulation = ForecastSimulation(board, workspace_id, pace)
    yield from simulation.steps()
    return simulation.found


class ForecastSimulation:
    """Moves time from one end to the next, and runs placement again if the workspace's quota has room."""

    def __init__(self, board: PlacementInput, workspace_id: int, pace: DurationCase) -> None:
        self.workspace_id = workspace_id
        running = [running_in_case(run, pace) for run in board.running]
        self.table = FreeCapacity(board.nodes, board.quotas, running, board.now, board.can_spread)
        self.table.quotas = self.quotas = dict(board.quotas)
        self.waiting = [job_in_case(head, pace) for head in board.jobs_to_place]
        self.now = board.now
        self.ends = {run.job_id: run.ends_at for run in running if run.ends_at and run.ends_at > board.now}
        self.sources = {run.job_id: run.source for run in running}
        self.sources_waited_for: set[EstimateSource | None] = set()
        self.found: SimulatedStarts = {}

    def steps(self) -> Iterator[None]:
        while True:
            mine = [head for head in self.waiting if head.workspace_id == self.workspace_id]
            if mine and min(head.units for head in mine) <= self.table.share(self.workspace_id).free:
                for head in self.start_what_fits():
                    if head.workspace_id == self.workspace_id:
                        self.found[head.job_id] = (self.now, self.estimate_source())
            if not mine or not self.ends:
                return
            self.advance_to_next_end()
            yield

    def start_what_fits(self) -> list[JobToPlace]:
        look, started = SchedulingPass(self.table), []
        for head in look.sort_by_turn(self.waiting):
            placed = look.start(head)
            if placed:
                started.append(head)
                self.note_start(head, None if placed.is_backfill else len(started))
        gone = {head.job_id for head in started}
        self.waiting = [head for head in self.waiting if head.job_id not in gone]
        return started

    def note_start(self, head: JobToPlace, turn: int | None) -> None:
        seconds = expected_seconds(head)
        if seconds is not None:
            self.ends[head.job_id] = self.now + timedelta(seconds=seconds)
        self.sources[head.job_id] = head.estimate_source
        if turn is not None:
            quota = self.quotas.get(head.workspace_id, NO_QUOTA)
            self.quotas[head.workspace_id] = replace(quota, last_turn_at=self.now, last_turn_attempt_id=turn)

    def advance_to_next_end(self) -> None:
        self.now = min(self.ends.values())
        over = [job_id for job_id, end in self.ends.items() if end == self.now]
        for job_id in over:
            del self.ends[job_id]
            self.sources_waited_for.add(self.sources.get(job_id))
        self.table.advance_to(self.now, over)

    def estimate_source(self) -> EstimateSource | None:
        """Returns the source. Ends by time limits alone are the latest ones; with past durations they are a guess."""
        for source in (EstimateSource.HISTORY, EstimateSource.PROGRESS, EstimateSource.TIME_LIMITS):
            if source in self.sources_waited_for:
                return source
        return None


def running_in_case(run: RunningOnNode, pace: DurationCase) -> RunningOnNode:
    other = {
        DurationCase.EXPECTED: None,
        DurationCase.SHORTEST: run.earliest_at,
        DurationCase.LONGEST: run.latest_at,
    }[pace]
    return replace(run, ends_at=other) if other else run


def job_in_case(head: JobToPlace, pace: DurationCase) -> JobToPlace:
    other = {
        DurationCase.EXPECTED: None,
        DurationCase.SHORTEST: head.shortest_seconds,
        DurationCase.LONGEST: head.longest_seconds,
    }[pace]
    return replace(head, seconds=other) if other is not None else head
