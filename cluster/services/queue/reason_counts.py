"""Counts waiting jobs by reason: exactly up to 1,000, and in bounded time however long the queue is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, and_, false, func, literal, not_, or_, select, true
from sqlalchemy.orm import Session

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.overview import QueueOverview
from cluster.domain.queue.reasons import (
    AheadInQueue,
    JobOnHold,
    RetryBackoff,
    SweepLimitReached,
    WaitingReason,
)
from cluster.domain.queue.retry_backoff import parse_backoff
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import DatasetState
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.services.placement.start_blockers import read_dataset_reasons, read_slots_within
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
    """The conditions that select the jobs of each reason. An index answers them."""

    by_head: Mapping[str, Sequence[int]]
    """Ids of the fronts of lines, by their own reason, in the order of their turns."""
    by_workspace: dict[str, list[int]]
    by_dataset: dict[str, list[int]]
    full_sweeps: list[int]
    paused: Sequence[int]
    """Ids of jobs that are tried again after a pause."""
    common_reason: str | None
    """The reason of all jobs that nothing else keeps: the environment is not there."""

    @property
    def codes(self) -> list[str]:
        found = [JobOnHold.code, RetryBackoff.code, *self.by_workspace, *self.by_dataset]
        found += [SweepLimitReached.code] if self.full_sweeps else []
        return [*found, *self.by_head, self.common_reason or AheadInQueue.code]

    def condition(self, code: str) -> ColumnElement[bool]:
        """The condition for jobs that wait for this reason; never true for a reason that no job has."""
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
        if code in self.by_head:
            return and_(free, Job.id.in_(self.by_head[code]))
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


def reason_filters(overview: QueueOverview) -> ReasonFilters:
    return ReasonFilters(
        overview.reasons_of_heads,
        group_by_code(overview.workspaces),
        group_by_code(overview.datasets),
        list(overview.full_sweeps),
        overview.backed_off,
        overview.everybody.code if overview.everybody else None,
    )


def group_by_code(shared: Mapping[int, WaitingExplanation]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for key, explanation in shared.items():
        found[explanation.code or ""].append(key)
    return dict(found)


def read_unready_datasets(session: Session) -> dict[int, WaitingReason]:
    """Datasets that are not ready and for which somebody waits."""
    waits = select(Job.id).where(Job.dataset_id == Dataset.id, Job.state == WAITING_STATE).exists()
    ids = session.scalars(select(Dataset.id).where(Dataset.state != DatasetState.READY, waits)).all()
    return read_dataset_reasons(session, ids)


def read_backed_off_jobs(session: Session, now: datetime) -> list[int]:
    """Finds the jobs by the index of reasons. If there are more than are counted, the others count as the rest.

    A job that others have overtaken meanwhile keeps the reason of its row although its pause is over.
    """
    paused = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.waiting_code == RetryBackoff.code, Job.state == WAITING_STATE
    )
    rows = session.execute(paused.order_by(Job.id).limit(MAX_AHEAD_COUNTED))
    return [job_id for job_id, code, data in rows if parse_backoff(code, data, now)]


def read_full_sweeps(session: Session) -> dict[int, WaitingReason]:
    """Sweeps of which jobs wait and no further one may start now."""
    waits = select(Job.id).where(Job.sweep_id == Sweep.id, Job.state == WAITING_STATE).exists()
    limited = select(Sweep.id, Sweep.most_at_once).where(Sweep.most_at_once.is_not(None), waits)
    limits = {row[0]: row[1] for row in session.execute(limited) if row[1] is not None}
    slots = read_slots_within(session, limits)
    return {
        sweep_id: SweepLimitReached(sweep_id, most) for sweep_id, (most, left) in slots.items() if left == 0
    }


def count_reasons(
    session: Session, causes: ReasonFilters, workspace_id: int | None = None
) -> list[ReasonCount]:
    """Reasons that somebody has, the most frequent first. `causes` are those of the whole queue."""
    numbers = {code: len(heads) for code, heads in causes.by_head.items()} if workspace_id is None else {}
    others = [code for code in dict.fromkeys(causes.codes) if code not in numbers]
    asked = [count_query(causes.condition(code), workspace_id, code == causes.codes[-1]) for code in others]
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
    """Waiting jobs, at most one more than MAX_AHEAD_COUNTED. `in_order`: most jobs of the queue are meant, and the
    queue's own index is to be read, not the table with all that have ended."""
    place = Job.workspace_id == workspace_id if workspace_id is not None else true()
    some = select(literal(1)).where(Job.state == WAITING_STATE, condition, place).limit(MAX_AHEAD_COUNTED + 1)
    if in_order:
        some = some.order_by(Job.position, Job.id)
    return select(func.count()).select_from(some.subquery()).scalar_subquery()
