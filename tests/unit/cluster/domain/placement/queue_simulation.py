"""A cluster on paper: jobs come, placement looks, runs end exactly when they are expected to."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from cluster.domain.placement.scheduling_pass import PlacementInput
from cluster.domain.placement.types import (
    JobToPlace,
    NodeUnits,
    Placement,
    PlacementDecision,
    RunningOnNode,
    WorkspaceQuota,
)
from cluster.domain.states import NodeState, UnitKind

BEGIN = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return BEGIN + timedelta(seconds=second)


@dataclass(frozen=True)
class Coming:
    """A job that will be submitted; it runs for `seconds`, and `tells` whether anybody knows that."""

    second: int
    workspace: int
    units: int
    seconds: int
    has_limit: bool
    is_known: bool = True
    priority: int = 0


def head_of(job_id: int, job: Coming) -> JobToPlace:
    seconds = float(job.seconds)
    return JobToPlace(
        job_id,
        job.workspace,
        job.units,
        job.priority,
        job_id,
        None,
        seconds if job.is_known or job.has_limit else None,
        seconds if job.has_limit else None,
        at(job.second),
    )


@dataclass
class World:
    """`sizes`: units by node; `limits`: quota by workspace."""

    sizes: list[int]
    limits: dict[int, int]
    jobs: list[Coming]
    spread: bool = False
    now: int = 0
    waiting: dict[int, JobToPlace] = field(default_factory=dict)
    running: dict[int, tuple[Placement, int]] = field(default_factory=dict)
    """By job: where, and the second at which it ends."""
    started: dict[int, int] = field(default_factory=dict)
    served: dict[int, tuple[datetime, int]] = field(default_factory=dict)
    log: list[tuple[PlacementInput, list[PlacementDecision]]] = field(default_factory=list)
    afterwards: list[PlacementInput] = field(default_factory=list)
    """The board directly after each look."""

    def play(self) -> None:
        """Until nothing happens any more."""
        moments = {job.second for job in self.jobs}
        while moments:
            self.now = min(moments)
            moments.discard(self.now)
            self.running = {job: run for job, run in self.running.items() if run[1] > self.now}
            for job_id, job in enumerate(self.jobs, start=1):
                if job.second == self.now:
                    self.waiting[job_id] = head_of(job_id, job)
            moments |= self.look()

    def look(self) -> set[int]:
        """One look at the queue; the seconds at which what starts now will end."""
        board = self.board()
        decisions = board.decide()
        self.log.append((board, decisions))
        ends = set()
        for decision in decisions:
            if isinstance(decision, Placement):
                head = self.waiting.pop(decision.job_id)
                end = self.now + self.jobs[decision.job_id - 1].seconds
                self.running[decision.job_id] = (decision, end)
                self.started[decision.job_id] = self.now
                if not decision.is_backfill:
                    self.served[head.workspace_id] = (at(self.now), len(self.started))
                ends.add(end)
        self.afterwards.append(self.board())
        return ends

    def board(self) -> PlacementInput:
        held = {unit for placed, _ in self.running.values() for unit in placed.unit_ids}
        nodes = [
            node_of(number, [unit for unit in ids_of(number, size) if unit not in held], size)
            for number, size in enumerate(self.sizes, start=1)
        ]
        used: Counter[int] = Counter()
        for job_id, (placed, _) in self.running.items():
            used[self.jobs[job_id - 1].workspace] += len(placed.unit_ids)
        quotas = {
            workspace: WorkspaceQuota(limit, used[workspace], *self.served.get(workspace, (None, 0)))
            for workspace, limit in self.limits.items()
        }
        return PlacementInput(
            list(self.waiting.values()), nodes, quotas, self.runs(), at(self.now), self.spread
        )

    def runs(self) -> list[RunningOnNode]:
        return [
            RunningOnNode(job_id, self.jobs[job_id - 1].workspace, node, len(units), self.end_of(job_id, end))
            for job_id, (placed, end) in self.running.items()
            for node, units in placed.nodes
        ]

    def end_of(self, job_id: int, end: int) -> datetime | None:
        job = self.jobs[job_id - 1]
        return at(end) if job.is_known or job.has_limit else None


def ids_of(number: int, size: int) -> list[int]:
    return list(range(number * 100, number * 100 + size))


def node_of(number: int, free: list[int], size: int) -> NodeUnits:
    islands = {unit: f"island-{unit // 2}" for unit in ids_of(number, size)}
    fabric = f"fabric-{number % 2}"
    return NodeUnits(number, f"gc{number}", NodeState.READY, UnitKind.GPU, tuple(free), size, fabric, islands)


def comings(is_known: bool = True) -> st.SearchStrategy[list[Coming]]:
    return st.lists(
        st.builds(
            Coming,
            second=st.integers(0, 40),
            workspace=st.integers(1, 3),
            units=st.integers(1, 6),
            seconds=st.integers(1, 30),
            has_limit=st.booleans(),
            is_known=st.just(True) if is_known else st.booleans(),
        ),
        min_size=1,
        max_size=12,
    ).map(lambda jobs: sorted(jobs, key=lambda job: job.second))


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=3)
limits = st.fixed_dictionaries({workspace: st.integers(1, 8) for workspace in (1, 2, 3)})
worlds = st.builds(World, sizes=sizes, limits=limits, jobs=comings(), spread=st.booleans())
worlds_with_unknown_ends = st.builds(
    World, sizes=sizes, limits=limits, jobs=comings(is_known=False), spread=st.booleans()
)
