"""How many wait for which reason: exact to 1,000, and bounded, however long the queue is."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, and_, false, func, literal, not_, or_, select, true
from sqlalchemy.orm import Session

from cluster.domain.outlook import MOST_AHEAD
from cluster.domain.pauses import pause_of
from cluster.domain.placement import Waiting
from cluster.domain.reasons import (
    AheadInQueue,
    DatasetFailed,
    DatasetNotReady,
    OnHold,
    SweepLimit,
    TriedLater,
)
from cluster.domain.states import DatasetState
from cluster.services.lines import WAITING
from cluster.services.standing import Queue
from cluster.services.sweep_limits import room_within
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job, Sweep


@dataclass(frozen=True)
class ReasonCount:
    code: str
    count: int
    is_more: bool
    """There are more than `count`."""


@dataclass(frozen=True)
class Causes:
    """Which jobs have which reason, as conditions that an index answers."""

    by_front: dict[str, list[int]]
    """Ids of the fronts of lines, by their own reason, in the order of their turns."""
    by_workspace: dict[str, list[int]]
    by_dataset: dict[str, list[int]]
    full_sweeps: list[int]
    paused: list[int]
    """Ids of jobs that are tried again after a pause."""
    for_everybody: str | None
    """The reason of all jobs that nothing else keeps: the environment is not there."""

    @property
    def codes(self) -> list[str]:
        found = [OnHold.code, TriedLater.code, *self.by_workspace, *self.by_dataset]
        found += [SweepLimit.code] if self.full_sweeps else []
        return [*found, *self.by_front, self.for_everybody or AheadInQueue.code]

    def condition(self, code: str) -> ColumnElement[bool]:
        """Of jobs that wait for this reason; never true for one that nobody has."""
        free = Job.held_at.is_(None)
        if code == OnHold.code:
            return Job.held_at.is_not(None)
        if code == TriedLater.code:
            return and_(free, Job.id.in_(self.paused))
        if code in self.by_workspace:
            return and_(free, Job.workspace_id.in_(self.by_workspace[code]))
        if code in self.by_dataset:
            return and_(free, Job.dataset_id.in_(self.by_dataset[code]))
        if code == SweepLimit.code:
            return and_(free, Job.sweep_id.in_(self.full_sweeps))
        if code == (self.for_everybody or AheadInQueue.code):
            return and_(free, not_(self.obstructed()))
        return false()

    def obstructed(self) -> ColumnElement[bool]:
        """Kept by something of their own, or a front with a reason of its own."""
        places = [place for ids in self.by_workspace.values() for place in ids]
        datasets = [dataset for ids in self.by_dataset.values() for dataset in ids]
        fronts = [job_id for ids in self.by_front.values() for job_id in ids]
        return or_(
            Job.workspace_id.in_(places),
            and_(Job.dataset_id.is_not(None), Job.dataset_id.in_(datasets)),
            and_(Job.sweep_id.is_not(None), Job.sweep_id.in_(self.full_sweeps)),
            Job.id.in_([*self.paused, *fronts]),
        )


def read_causes(session: Session, queue: Queue) -> Causes:
    obstacles = queue.board.obstacles
    by_workspace: dict[str, list[int]] = defaultdict(list)
    for place, reason in obstacles.terms.items():
        by_workspace[reason.code].append(place)
    by_front: dict[str, list[int]] = defaultdict(list)
    for job_id, decision in queue.decisions.items():
        if not isinstance(decision, Waiting) or isinstance(decision.reason, AheadInQueue):
            continue
        if job_id not in queue.blocked:
            by_front[decision.reason.code].append(job_id)
    return Causes(
        dict(by_front),
        dict(by_workspace),
        read_unready(session),
        read_full_sweeps(session),
        read_paused(session, queue.board.now),
        obstacles.environment.code if obstacles.environment else None,
    )


def read_unready(session: Session) -> dict[str, list[int]]:
    """Datasets that are not ready and for which somebody waits, by the code of the reason."""
    waits = select(Job.id).where(Job.dataset_id == Dataset.id, Job.state == WAITING).exists()
    query = select(Dataset.id, Dataset.state).where(Dataset.state != DatasetState.READY, waits)
    found: dict[str, list[int]] = defaultdict(list)
    for dataset_id, state in session.execute(query):
        failed = state is DatasetState.FAILED
        found[DatasetFailed.code if failed else DatasetNotReady.code].append(dataset_id)
    return dict(found)


def read_paused(session: Session, now: datetime) -> list[int]:
    """By the index of reasons; more than are counted are not told apart from the rest.

    A job that others have overtaken meanwhile keeps its row's word although its pause is over.
    """
    paused = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.waiting_code == TriedLater.code, Job.state == WAITING
    )
    rows = session.execute(paused.order_by(Job.id).limit(MOST_AHEAD))
    return [job_id for job_id, code, data in rows if pause_of(code, data, now)]


def read_full_sweeps(session: Session) -> list[int]:
    waits = select(Job.id).where(Job.sweep_id == Sweep.id, Job.state == WAITING).exists()
    limited = select(Sweep.id, Sweep.most_at_once).where(Sweep.most_at_once.is_not(None), waits)
    limits = {row[0]: row[1] for row in session.execute(limited) if row[1] is not None}
    return [sweep_id for sweep_id, (_, left) in room_within(session, limits).items() if left == 0]


def count_reasons(
    session: Session, queue: Queue, causes: Causes, workspace_id: int | None
) -> list[ReasonCount]:
    """Reasons that somebody has, the most frequent first."""
    jobs = queue.board.jobs
    numbers = {
        code: sum(workspace_id in (None, jobs[job_id].workspace_id) for job_id in fronts)
        for code, fronts in causes.by_front.items()
    }
    others = [code for code in dict.fromkeys(causes.codes) if code not in numbers]
    asked = [
        counting(causes.condition(code), workspace_id, workspace_id is None and code == causes.codes[-1])
        for code in others
    ]
    # All of them in one question: each is a search of its own in the same statement.
    found = session.execute(select(*asked)).one() if asked else ()
    numbers |= dict(zip(others, found, strict=True))
    counts = [
        ReasonCount(code, min(number, MOST_AHEAD), number > MOST_AHEAD)
        for code, number in numbers.items()
        if number
    ]
    return sorted(counts, key=lambda each: (-each.count, each.code))


def counting(
    condition: ColumnElement[bool], workspace_id: int | None = None, in_order: bool = False
) -> ScalarSelect[int]:
    """Waiting jobs, at most one more than MOST_AHEAD. `in_order`: most jobs of the queue are meant, and the
    queue's own index is to be read, not the table with all that have ended."""
    place = Job.workspace_id == workspace_id if workspace_id is not None else true()
    some = select(literal(1)).where(Job.state == WAITING, condition, place).limit(MOST_AHEAD + 1)
    if in_order:
        some = some.order_by(Job.position, Job.id)
    return select(func.count()).select_from(some.subquery()).scalar_subquery()
