"""Availability of one node or quota over time: running jobs give units back, reservations take them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf

from cluster.domain.placement.types import RunningOnNode

UNKNOWN_END = 1e12
"""The moment that stands for an unknown end, later than every known one (seconds since 1970)."""

NO_JOB = 0
"""The job id of units that are in use although no run holds them."""


@dataclass(frozen=True)
class Reservation:
    """Units that are kept for a waiting job. `until` is infinite if the job has no time limit."""

    job_id: int
    begin: float
    until: float
    units: int


@dataclass
class PlacementClock:
    """The current time of all availabilities of a pass: seconds since 1970."""

    now: float


@dataclass
class UnitAvailability:
    """The availability of one node or quota. Moments are seconds since 1970."""

    clock: PlacementClock
    free: int
    """The free units. The number is negative if a quota was cut below what is in use."""
    ends: list[tuple[float, RunningOnNode]] = field(default_factory=list)
    """The ends at which units come back: soonest first, unknown ends last."""
    reservations: list[Reservation] = field(default_factory=list)
    cached_levels: list[tuple[float, int]] = field(default_factory=list)
    cached_earliest: dict[int, float] = field(default_factory=dict)

    def most_units_for(self, limit: float | None) -> int:
        """The most units that a job may have if it starts now and delays no reservation.

        A job without a limit never gives its units back. If the moment of a reservation is unknown, no limit is short
        enough, because that moment may come at once.
        """
        if not self.reservations or self.free <= 0:
            return self.free
        is_uncertain = any(promise.begin >= UNKNOWN_END for promise in self.reservations)
        until = inf if limit is None or is_uncertain else self.clock.now + limit
        return min(amount for moment, amount in self.levels() if moment < until)

    def fits(self, units: int, limit: float | None) -> bool:
        return self.free >= units and (not self.reservations or self.most_units_for(limit) >= units)

    def levels(self) -> list[tuple[float, int]]:
        """(moment, free units from then until the next moment), the first one now."""
        if not self.cached_levels:
            changes = {self.clock.now: 0}
            for end, run in self.ends:
                changes[end] = changes.get(end, 0) + run.units
            for promise in self.reservations:
                changes[promise.begin] = changes.get(promise.begin, 0) - promise.units
                if promise.until < inf:
                    changes[promise.until] = changes.get(promise.until, 0) + promise.units
            amount = self.free
            for moment in sorted(changes):
                amount += changes[moment]
                self.cached_levels.append((moment, amount))
        return self.cached_levels

    def earliest_with(self, units: int) -> float:
        """Returns the first moment from which so many units stay free; infinite if there is none."""
        found = self.cached_earliest.get(units)
        if found is None:
            found = inf
            for moment, amount in reversed(self.levels()):
                if amount < units:
                    break
                found = moment
            self.cached_earliest[units] = found
        return found

    def most_units_from(self, moment: float) -> int:
        """The most units that are free from a moment on for ever."""
        least = None
        for at, amount in reversed(self.levels()):
            least = amount if least is None else min(least, amount)
            if at <= moment:
                break
        return least or 0

    def longest_free_seconds(self, units: int) -> float:
        """Returns for how many seconds `units` units stay free from now on; infinite if no reservation takes them."""
        if any(promise.begin >= UNKNOWN_END for promise in self.reservations):
            return inf if self.most_units_for(None) >= units else 0.0
        short = (moment for moment, amount in self.levels() if amount < units)
        return next(short, inf) - self.clock.now

    def reserve(self, job_id: int, begin: float, limit: float | None, units: int) -> None:
        until = inf if limit is None else begin + limit
        self.reservations.append(Reservation(job_id, begin, until, units))
        self._forget()

    def take_units(self, run: RunningOnNode) -> None:
        """Marks the run's units as in use from now on."""
        self.free -= run.units
        self._put_in_order([run for _, run in self.ends] + [run])

    def clear_reservations(self) -> None:
        self.reservations = []
        self._forget()

    def release_jobs(self, over: Collection[int]) -> None:
        """Frees the units that these jobs hold."""
        self.free += sum(run.units for _, run in self.ends if run.job_id in over)
        self._put_in_order([run for _, run in self.ends if run.job_id not in over])

    def _put_in_order(self, runs: Iterable[RunningOnNode]) -> None:
        """Orders the runs by their ends. Unknown ends count as different moments, the older job's first, because one
        end alone may free enough units.
        """
        ends = sorted(((expected_end_of(run, self.clock.now), run) for run in runs), key=_soonest)
        self.ends = [
            (moment if moment < UNKNOWN_END else UNKNOWN_END + rank, run)
            for rank, (moment, run) in enumerate(ends)
        ]
        self._forget()

    def _forget(self) -> None:
        self.cached_levels, self.cached_earliest = [], {}


def availability_of(
    clock: PlacementClock, total: int, free: int, runs: Sequence[RunningOnNode]
) -> UnitAvailability:
    """Adds an unknown end for each unit that is in use although no known run holds it."""
    rest = total - free - sum(run.units for run in runs)
    unexplained = [RunningOnNode(NO_JOB, 0, 0, 1)] * rest
    room = UnitAvailability(clock, free, [(0.0, run) for run in (*runs, *unexplained)])
    room.release_jobs(())
    return room


def expected_end_of(run: RunningOnNode, now: float) -> float:
    """Returns the run's expected end. If that has passed and the run has not ended, the end counts as unknown."""
    end = run.ends_at.timestamp() if run.ends_at else UNKNOWN_END
    return end if end > now else UNKNOWN_END


def _soonest(end: tuple[float, RunningOnNode]) -> tuple[float, bool, int]:
    moment, run = end
    return moment, run.job_id == NO_JOB, run.job_id


def moment_as_datetime(moment: float, zone: datetime) -> datetime | None:
    """Returns None for an infinite moment, which means unknown. The answer has the time zone of `zone`."""
    return datetime.fromtimestamp(moment, zone.tzinfo) if moment < UNKNOWN_END else None
