"""Decides when the scheduler runs its next pass, and which periodic work is due in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from types import MappingProxyType

IDLE_SECONDS = 1.0
BUSY_SECONDS = 0.25
"""The wait while attempts live; the end of a process interrupts it."""
BACKOFF_SECONDS = 0.05
"""The least time between the beginnings of two passes that events caused, if the first one changed nothing: a thousand
submissions do not make the loop spin."""
BACKOFF_SHARE = 3.0
"""The pause after a pass that changed nothing, as a multiple of its duration: such passes use a quarter of a core at
most.
"""
NEVER = float("-inf")


class PeriodicWork(StrEnum):
    """The kinds of the scheduler's periodic work. `PERIODS` has the seconds of each."""

    LEASE_RENEWAL = auto()
    WHOLE_PASS = auto()
    WORKSPACE_FOLDERS = auto()
    EXPIRY = auto()
    FILE_DELETIONS = auto()
    WORKSPACE_SIZES = auto()
    WHOLE_QUEUE = auto()
    QUEUE_TOTALS = auto()
    PROGRESS = auto()
    SCHEDULER_STATS = auto()
    OFFLINE_REPAIRS = auto()
    AUDIT_SEALS = auto()
    NIGHTLY_BACKUP = auto()
    NIGHTLY_GPU_CHECKS = auto()
    NOTIFICATIONS = auto()
    CONFINEMENT = auto()
    ORPHAN_RUNS = auto()
    KUBERNETES = auto()
    NOTEBOOKS = auto()


PERIODS: Mapping[PeriodicWork, float] = MappingProxyType(
    {
        PeriodicWork.LEASE_RENEWAL: 3.0,
        PeriodicWork.WHOLE_PASS: 10.0,  # This is the period while the rows have no open work.
        PeriodicWork.WORKSPACE_FOLDERS: 1.0,  # This period counts if the event of a new workspace was lost.
        PeriodicWork.EXPIRY: 1.0,
        PeriodicWork.FILE_DELETIONS: 1.0,
        PeriodicWork.WORKSPACE_SIZES: 5.0,  # A measurement itself begins every 300 s.
        PeriodicWork.WHOLE_QUEUE: 1.0,  # This is for times in which events come so fast that no pass is without one.
        PeriodicWork.QUEUE_TOTALS: 10.0,
        PeriodicWork.PROGRESS: 5.0,
        PeriodicWork.SCHEDULER_STATS: 15.0,
        PeriodicWork.OFFLINE_REPAIRS: 60.0,
        PeriodicWork.AUDIT_SEALS: 60.0,
        PeriodicWork.NIGHTLY_BACKUP: 60.0,
        PeriodicWork.NIGHTLY_GPU_CHECKS: 60.0,
        PeriodicWork.NOTIFICATIONS: 60.0,
        PeriodicWork.CONFINEMENT: 900.0,  # A network manager may have taken a rule away meanwhile.
        PeriodicWork.ORPHAN_RUNS: 5.0,
        PeriodicWork.NOTEBOOKS: 0.25,  # A person waits for the first answer.
        PeriodicWork.KUBERNETES: 1.0,  # The watch itself pauses for longer between two reads of the cluster.
    }
)
"""Seconds between two beginnings of the same work."""
FIRST_AFTER_PERIOD = frozenset(
    {
        PeriodicWork.SCHEDULER_STATS,
        PeriodicWork.OFFLINE_REPAIRS,
        PeriodicWork.AUDIT_SEALS,
        PeriodicWork.NIGHTLY_BACKUP,
        PeriodicWork.NOTIFICATIONS,
    }
)
"""Work that is due one period after the scheduler's start and not at once."""


@dataclass(frozen=True)
class Cadence:
    """When passes and periodic work began, in seconds of a clock that nobody sets.

    Each change returns the next value.
    """

    work_began: Mapping[PeriodicWork, float]
    pass_began: float = NEVER
    pass_seconds: float = 0.0
    """The seconds that the last pass took."""
    slowest_pass_seconds: float = 0.0
    """The seconds of the slowest pass since the last `forget_slowest_pass`."""
    is_woken: bool = False
    """Whether an event or the end of a process ended the last wait, and not the time."""
    has_changed: bool = False
    """Whether the last pass ended or placed an attempt."""

    @classmethod
    def at_start(cls, now: float) -> "Cadence":
        return cls(dict.fromkeys(FIRST_AFTER_PERIOD, now))

    def begin_pass(self, now: float) -> "Cadence":
        return replace(self, pass_began=now, has_changed=False)

    def note_change(self) -> "Cadence":
        return replace(self, has_changed=True)

    def end_pass(self, now: float) -> "Cadence":
        took = now - self.pass_began
        return replace(self, pass_seconds=took, slowest_pass_seconds=max(self.slowest_pass_seconds, took))

    def forget_slowest_pass(self) -> "Cadence":
        return replace(self, slowest_pass_seconds=0.0)

    def end_wait(self, is_woken: bool) -> "Cadence":
        return replace(self, is_woken=is_woken)

    def wait_seconds(self, has_live_attempts: bool) -> float:
        """The longest time that the scheduler waits for an event."""
        return BUSY_SECONDS if has_live_attempts else IDLE_SECONDS

    @property
    def next_pass_not_before(self) -> float:
        """The time before which not even an event causes a pass."""
        if not self.is_woken or self.has_changed:
            return NEVER
        return self.pass_began + min(max(BACKOFF_SECONDS, BACKOFF_SHARE * self.pass_seconds), BUSY_SECONDS)

    def is_due(self, work: PeriodicWork, now: float) -> bool:
        return now - self.work_began.get(work, NEVER) >= PERIODS[work]

    def make_due(self, work: PeriodicWork) -> "Cadence":
        return replace(self, work_began={**self.work_began, work: NEVER})

    def begin_work(self, work: PeriodicWork, now: float) -> "Cadence":
        """Notes the beginning of the work before it is done, so that failed work is tried again one period later and
        delays nothing else.
        """
        return replace(self, work_began={**self.work_began, work: now})
