"""Writes why jobs wait and when they are expected to start, from what the scheduling pass has decided anyway.

It comes after the starts of a pass, and takes little of the scheduler's time: reasons are written at most twice a
second and only if they changed; starts behind the heads are forecast line by line, a few milliseconds per pass.
"""

from collections.abc import Callable, Generator, Set
from dataclasses import dataclass

from cluster.domain.placement.start_forecast import MAX_FORECAST_JOBS
from cluster.domain.placement.types import NotPlaced
from cluster.domain.queue.overview import QueueOverview
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.placement.snapshot import PlacementSnapshot, read_line_snapshot
from cluster.services.queue.written_queue import (
    LineReport,
    WrittenQueue,
    describe_queue,
    find_largest_free_block,
    read_written_queue,
    report_line,
    write_queue,
)

CHANGE_SECONDS = 0.5
"""The interval between two writings while the queue changes."""
REPEAT_SECONDS = 1.0
"""The interval for jobs deep in a line, whose datasets and sweeps change without a pass."""
SLICE_SECONDS = 0.005
"""The time that a pass spends on forecasts before it waits for events again."""
FORECAST_SHARE = 0.1
"""The share of a pass that forecasts may take. A pass takes long if there are many nodes, and forecasts take longer
then too.
"""
FORECAST_SECONDS = 1.0
"""The interval between two forecasts of the same line."""
NEVER = float("-inf")


@dataclass(frozen=True)
class TimedReport:
    """A report, with the time and the version of the queue at its beginning."""

    report: LineReport
    version: int
    began: float


class QueueReporter:
    """`steady` is a clock that nobody sets, in seconds."""

    def __init__(self, cluster: Cluster, steady: Callable[[], float]) -> None:
        self.cluster = cluster
        self.steady = steady
        self.snapshot: PlacementSnapshot | None = None
        self.version = 0
        """Counts the changes that were seen. Forecasts of an earlier version are made again."""
        self.reports: dict[int, TimedReport] = {}
        self.forecast: Generator[None, None, TimedReport] | None = None
        self.forecast_line = 0
        self.forecast_at = NEVER
        self.written: WrittenQueue | None = None
        """The overview that was last written; None if the rows have to be read first."""
        self.wrote_at = NEVER
        self.is_changed = True
        self.has_event = False

    def begin_lease(self) -> None:
        """Forgets the last overview, because another scheduler may have written meanwhile."""
        self.written, self.is_changed = None, True

    def note_event(self) -> None:
        """Notes that a job was added or ended, perhaps deep in a line, which a snapshot does not show."""
        self.has_event = True

    def note(self, snapshot: PlacementSnapshot) -> None:
        """Takes over the decisions of a pass on the whole queue."""
        if self.has_event or self.snapshot is None or has_changed(self.snapshot, snapshot):
            self.version += 1
            self.is_changed, self.has_event = True, False
        self.snapshot = snapshot

    def advance(self, held: HeldLease, is_busy: bool = False, pass_seconds: float = 0.0) -> None:
        """Writes what is due, and goes on with the forecast of one line. Raises LeaseLost.

        `is_busy`: jobs start or end in each pass, which is not to be delayed more than once a second. `pass_seconds` is
        the duration of the pass; a forecast takes a tenth of it if that is more than a slice.
        """
        if self.snapshot is None:
            return
        now = self.steady()
        if not is_busy or now - self.forecast_at >= FORECAST_SECONDS:
            self.forecast_at = now
            self.advance_forecast(self.snapshot, now, max(SLICE_SECONDS, FORECAST_SHARE * pass_seconds))
        if now - self.wrote_at >= (CHANGE_SECONDS if self.is_changed else REPEAT_SECONDS):
            self.wrote_at, self.is_changed = now, False
            self.write(held, self.snapshot)

    def write(self, held: HeldLease, snapshot: PlacementSnapshot) -> None:
        before = self.written
        if before is None:
            before = read_written_queue(self.cluster)
        after = self.describe(snapshot)
        self.written = None  # The written overview is unknown if the writing fails.
        write_queue(self.cluster, held, before, after)
        self.written = after

    def describe(self, snapshot: PlacementSnapshot) -> WrittenQueue:
        if not snapshot.jobs:
            return WrittenQueue(QueueOverview(largest_free_block=find_largest_free_block(snapshot)))
        reports = {line: timed.report for line, timed in self.reports.items()}
        with self.cluster.store.read() as session:
            return describe_queue(session, snapshot, reports)

    def advance_forecast(
        self, snapshot: PlacementSnapshot, now: float, seconds: float = SLICE_SECONDS
    ) -> None:
        lines = waiting_lines(snapshot)
        for line in self.reports.keys() - lines:
            del self.reports[line]
        if self.forecast is None:
            due = self.next_line(lines, now)
            if due is None:
                return
            self.forecast, self.forecast_line = self.forecast_one(snapshot, due, now), due
        try:
            next(self.forecast)
            while self.steady() - now < seconds:
                next(self.forecast)
        except StopIteration as end:
            self.forecast = None
            timed: TimedReport = end.value
            before = self.reports.get(self.forecast_line)
            self.reports[self.forecast_line] = timed
            self.is_changed |= before is None or before.report != timed.report

    def next_line(self, lines: Set[int], now: float) -> int | None:
        """The line with the oldest report, among the lines for which something may have changed."""
        due = [
            (timed.began if timed else NEVER, line)
            for line in lines
            if (timed := self.reports.get(line)) is None
            or (timed.version != self.version and now - timed.began >= FORECAST_SECONDS)
        ]
        return min(due)[1] if due else None

    def forecast_one(
        self, snapshot: PlacementSnapshot, line: int, began: float
    ) -> Generator[None, None, TimedReport]:
        version = self.version
        with self.cluster.store.read() as session:
            board = read_line_snapshot(self.cluster, session, snapshot, line, MAX_FORECAST_JOBS)
        yield
        report = yield from report_line(board, line)
        return TimedReport(report, version, began)


def has_changed(before: PlacementSnapshot, after: PlacementSnapshot) -> bool:
    """Whether anything but the time has changed."""
    return (before.jobs_to_place, before.nodes, before.quotas, before.running) != (
        after.jobs_to_place,
        after.nodes,
        after.quotas,
        after.running,
    )


def waiting_lines(snapshot: PlacementSnapshot) -> set[int]:
    """The workspaces in which jobs go on waiting; none while no job can start at all."""
    if snapshot.blockers.environment or snapshot.blockers.disk:
        return set()
    return {
        snapshot.jobs[decision.job_id].workspace_id
        for decision in snapshot.decisions
        if isinstance(decision, NotPlaced)
    }
