"""Counts waiting jobs by reason: exactly up to 1,000, and in bounded time however long the queue is."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, and_, false, func, literal, not_, or_, select, true
from sqlalchemy.orm import Session

from cluster.domain.placement.types import NotPlaced
from cluster.domain.queue.reasons import (
    AheadInQueue,
    DatasetFailed,
    DatasetNotReady,
    JobOnHold,
    RetryBackoff,
    SweepLimitReached,
)
from cluster.domain.queue.retry_backoff import parse_backoff
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import DatasetState
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.services.placement.start_blockers import read_slots_within
from cluster.services.queue.waiting_explanations import QueueSnapshot
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job, Sweep


@dataclass(frozen=True)
class ReasonCount:
    code: str
    count: int
    is_more: bool
    """There are more than `count`."""


@dataclass(frozen=True)
class ReasonFilters:
    """Which jobs have which reason, as conditions that an index answers."""

    by_head: dict[str, list[int]]
    """Ids of the fronts of lines, by their own reason, in the order of their turns."""
    by_workspace: dict[str, list[int]]
    by_dataset: dict[str, list[int]]
    full_sweeps: list[int]
    paused: list[int]
    """Ids of jobs that are tried again after a pause."""
    common_reason: str | None
    """The reason of all jobs that nothing else keeps: the environment is not there."""

    @property
    def codes(self) -> list[str]:
        found = [JobOnHold.code, RetryBackoff.code, *self.by_workspace, *self.by_dataset]
        found += [SweepLimitReached.code] if self.full_sweeps else []
        return [*found, *self.by_head, self.common_reason or AheadInQueue.code]

    def condition(self, code: str) -> ColumnElement[bool]:
        """Of jobs that wait for this reason; never true for one that nobody has."""
        free = Job.held_at.is_(None)
        if code == JobOnHold.code:
            return Job.held_at.is_not(None)
        if code == RetryBackoff.code:
            return and_(free, Job.id.in_(self.paused))
        if code in self.by_workspace:
            return and_(free, Job.workspace_id.in_(self.by_workspace[code]))
        if code in self.by_dataset:
            return and_(free, Job.dataset_id.in_(self.by_dataset[code]))
        if code == SweepLimitReached.code:
            return and_(free, Job.sweep_id.in_(self.full_sweeps))
        if code == (self.common_reason or AheadInQueue.code):
            return and_(free, not_(self.has_own_reason()))
        return false()

    def has_own_reason(self) -> ColumnElement[bool]:
        """Kept by something of their own, or a front with a reason of its own."""
        places = [place for ids in self.by_workspace.values() for place in ids]
        datasets = [dataset for ids in self.by_dataset.values() for dataset in ids]
        fronts = [job_id for ids in self.by_head.values() for job_id in ids]
        return or_(
            Job.workspace_id.in_(places),
            and_(Job.dataset_id.is_not(None), Job.dataset_id.in_(datasets)),
            and_(Job.sweep_id.is_not(None), Job.sweep_id.in_(self.full_sweeps)),
            Job.id.in_([*self.paused, *fronts]),
        )


def read_reason_filters(session: Session, queue: QueueSnapshot) -> ReasonFilters:
    obstacles = queue.placement.blockers
    by_workspace: dict[str, list[int]] = defaultdict(list)
    for place, reason in obstacles.terms.items():
        by_workspace[reason.code].append(place)
    by_front: dict[str, list[int]] = defaultdict(list)
    for job_id, decision in queue.decisions.items():
        if not isinstance(decision, NotPlaced) or isinstance(decision.reason, AheadInQueue):
            continue
        if job_id not in queue.blocked:
            by_front[decision.reason.code].append(job_id)
    return ReasonFilters(
        dict(by_front),
        dict(by_workspace),
        read_unready_datasets(session),
        read_full_sweeps(session),
        read_backed_off_jobs(session, queue.placement.now),
        obstacles.environment.code if obstacles.environment else None,
    )


def read_unready_datasets(session: Session) -> dict[str, list[int]]:
    """Datasets that are not ready and for which somebody waits, by the code of the reason."""
    waits = select(Job.id).where(Job.dataset_id == Dataset.id, Job.state == WAITING_STATE).exists()
    query = select(Dataset.id, Dataset.state).where(Dataset.state != DatasetState.READY, waits)
    found: dict[str, list[int]] = defaultdict(list)
    for dataset_id, state in session.execute(query):
        failed = state is DatasetState.FAILED
        found[DatasetFailed.code if failed else DatasetNotReady.code].append(dataset_id)
    return dict(found)


def read_backed_off_jobs(session: Session, now: datetime) -> list[int]:
    """By the index of reasons; more than are counted are not told apart from the rest.

    A job that others have overtaken meanwhile keeps its row's word although its pause is over.
    """
    paused = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.waiting_code == RetryBackoff.code, Job.state == WAITING_STATE
    )
    rows = session.execute(paused.order_by(Job.id).limit(MAX_AHEAD_COUNTED))
    return [job_id for job_id, code, data in rows if parse_backoff(code, data, now)]


def read_full_sweeps(session: Session) -> list[int]:
    waits = select(Job.id).where(Job.sweep_id == Sweep.id, Job.state == WAITING_STATE).exists()
    limited = select(Sweep.id, Sweep.most_at_once).where(Sweep.most_at_once.is_not(None), waits)
    limits = {row[0]: row[1] for row in session.execute(limited) if row[1] is not None}
    return [sweep_id for sweep_id, (_, left) in read_slots_within(session, limits).items() if left == 0]


def count_reasons(
    session: Session, queue: QueueSnapshot, causes: ReasonFilters, workspace_id: int | None
) -> list[ReasonCount]:
    """Reasons that somebody has, the most frequent first."""
    jobs = queue.placement.jobs
    numbers = {
        code: sum(workspace_id in (None, jobs[job_id].workspace_id) for job_id in fronts)
        for code, fronts in causes.by_head.items()
    }
    others = [code for code in dict.fromkeys(causes.codes) if code not in numbers]
    asked = [
        count_query(causes.condition(code), workspace_id, workspace_id is None and code == causes.codes[-1])
        for code in others
    ]
    # All of them in one question: each is a search of its own in the same statement.
    found = session.execute(select(*asked)).one() if asked else ()
    numbers |= dict(zip(others, found, strict=True))
    counts = [
        ReasonCount(code, min(number, MAX_AHEAD_COUNTED), number > MAX_AHEAD_COUNTED)
        for code, number in numbers.items()
        if number
    ]
    return sorted(counts, key=lambda each: (-each.count, each.code))


def count_query(
    condition: ColumnElement[bool], workspace_id: int | None = None, in_order: bool = False
) -> ScalarSelect[int]:
    """Waiting jobs, at most one more than MAX_AHEAD_COUNTED. `sort_queue`: most jobs of the queue are meant, and the
    queue's own index is to be read, not the table with all that have ended."""
    place = Job.workspace_id == workspace_id if workspace_id is not None else true()
    some = select(literal(1)).where(Job.state == WAITING_STATE, condition, place).limit(MAX_AHEAD_COUNTED + 1)
    if in_order:
        some = some.order_by(Job.position, Job.id)
    return select(func.count()).select_from(some.subquery()).scalar_subquery()
