"""The reference model: what a cluster is, in plain Python, told of the same events as the real one.

It knows nothing of rows, services or executors. Which waiting job is placed where is not its decision: it is told,
and refuses what no right decision could have been.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

LIVING = ("starting", "running", "stopping")
LONG_AGO = datetime.min.replace(tzinfo=UTC)
HARDLY_BEGUN = timedelta(seconds=90)


class Wrong(AssertionError):
    """The real cluster did something that it must not do."""


@dataclass
class ModelJob:
    number: int
    workspace: int
    units: int
    priority: int
    state: str = "waiting"
    wants_stop: bool = False
    is_held: bool = False
    attempts: int = 0
    lost: int = 0
    holds: frozenset[int] = frozenset()
    in_a_row: int = 0
    """Interruptions soon after the begin, one after another."""
    paused_until: datetime = LONG_AGO

    @property
    def is_over(self) -> bool:
        return self.state in ("finished", "failed", "stopped")


@dataclass
class Model:
    """`quotas` by workspace, `nodes` from name to its units."""

    quotas: dict[int, int]
    nodes: dict[str, frozenset[int]]
    jobs: dict[int, ModelJob] = field(default_factory=dict)

    def submitted(self, number: int, workspace: int, units: int, priority: int) -> None:
        if number in self.jobs:
            raise Wrong(f"job {number} was made twice")
        self.jobs[number] = ModelJob(number, workspace, units, priority)

    def stop_wanted(self, number: int) -> None:
        job = self.jobs[number]
        if job.is_over:
            return
        job.wants_stop = True
        job.state = "stopped" if job.state == "waiting" else "stopping"

    def held(self, number: int, is_held: bool) -> None:
        self.jobs[number].is_held = is_held

    def interrupted(self, number: int, lasted: timedelta, at: datetime) -> None:
        """Told of each interruption that the rows know, as when it took place the model cannot tell."""
        job = self.jobs[number]
        job.in_a_row = job.in_a_row + 1 if lasted < HARDLY_BEGUN else 0
        if job.in_a_row > 1 and job.state == "waiting":
            job.paused_until = at + timedelta(seconds=min(2 ** (job.in_a_row - 2), 300))

    def placed(self, number: int, units: frozenset[int], at: datetime) -> None:
        """The real scheduler gave it these units: was that right?"""
        job = self.jobs[number]
        if at < job.paused_until:
            raise Wrong(f"job {number} was placed at {at} within its pause, until {job.paused_until}")
        if job.state != "waiting" or job.is_held:
            raise Wrong(f"job {number} is {job.state}, held: {job.is_held}, and was placed")
        if len(units) != job.units:
            raise Wrong(f"job {number} got {len(units)} of {job.units} units")
        if units & self.busy():
            raise Wrong(f"job {number} got units {sorted(units & self.busy())} that another holds")
        if self.used(job.workspace) + job.units > self.quotas[job.workspace]:
            raise Wrong(f"job {number} is more than its workspace's quota allows")
        overtaken = [other.number for other in self.before(job, at) if other.units <= job.units]
        if overtaken:
            raise Wrong(f"job {number} was placed before {overtaken}, which need no more units")
        job.holds, job.state, job.attempts = units, "starting", job.attempts + 1

    def before(self, job: ModelJob, at: datetime) -> list[ModelJob]:
        """Waiting jobs of the same workspace whose turn is earlier; one in its pause has none."""
        return [
            other
            for other in self.jobs.values()
            if other.workspace == job.workspace
            and other.state == "waiting"
            and not other.is_held
            and other.paused_until <= at
            and (-other.priority, other.number) < (-job.priority, job.number)
        ]

    def started(self, number: int) -> None:
        job = self.jobs[number]
        job.state = "stopping" if job.wants_stop else "running"

    def ended(self, number: int, exit_code: int) -> None:
        """Its program ended by itself; a stop that was wanted in vain does not change how it ended."""
        job = self.jobs[number]
        job.holds = frozenset()
        job.state = "finished" if exit_code == 0 else "failed"

    def was_stopped(self, number: int) -> None:
        job = self.jobs[number]
        job.holds, job.state = frozenset(), "stopped"

    def shim_lost(self, number: int) -> None:
        """Three times a job is tried whose shim disappears."""
        job = self.jobs[number]
        job.holds, job.lost = frozenset(), job.lost + 1
        if job.wants_stop:
            job.state = "stopped"
        else:
            job.state = "waiting" if job.lost < 3 else "failed"

    def node_rebooted(self, name: str) -> list[int]:
        """Whatever held a unit there waits again; the numbers."""
        hit = [job for job in self.jobs.values() if job.holds & self.nodes[name]]
        for job in hit:
            job.holds = frozenset()
            job.state = "stopped" if job.wants_stop else "waiting"
        return [job.number for job in hit]

    def busy(self) -> frozenset[int]:
        return frozenset().union(*(job.holds for job in self.jobs.values()))

    def used(self, workspace: int) -> int:
        return sum(len(job.holds) for job in self.jobs.values() if job.workspace == workspace)

    def could_start(self, at: datetime) -> list[int]:
        """Jobs at the head of their workspace that fit on one node now, where nothing runs at all."""
        if self.busy():
            return []
        largest = max(len(units) for units in self.nodes.values())
        return [
            job.number
            for job in self.jobs.values()
            if job.state == "waiting"
            and not job.is_held
            and job.paused_until <= at
            and not self.before(job, at)
            and job.units <= min(largest, self.quotas[job.workspace])
        ]

    def state(self) -> dict[int, tuple[str, int, frozenset[int]]]:
        """What rows have to say of each job: its state, how often it was tried, what it holds."""
        return {number: (job.state, job.attempts, job.holds) for number, job in self.jobs.items()}
