"""Counts waiting jobs by reason: exactly up to 1,000, and in bounded time however long the queue is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, ScalarSelect, and_, false, func, literal, not_, or_, select, true
from sqlalchemy.orm import Session

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.overview import QueueOverview
from cluster.domain.queue.reasons import (
    AheadInQueue,
    JobOnHold,
    RetryBackoff,
    SweepLimitReached,
)
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.services.placement.queue_heads import WAITING_STATE
from cluster.store.jobs import Job


@dataclass(frozen=True)
class ReasonCount:
    code: str
    count: int
    is_more: bool
    """Whether there are more jobs than `count`."""


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
    """The reason of all jobs without another one: the environment does not exist yet."""

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
        """The condition of jobs with a reason of their own, and of fronts with such a reason."""
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


def count_reasons(
    session: Session, causes: ReasonFilters, workspace_id: int | None = None
) -> list[ReasonCount]:
    """The reasons that any job has, the most frequent first. `causes` are those of the whole queue."""
    numbers = {code: len(heads) for code, heads in causes.by_head.items()} if workspace_id is None else {}
    others = [code for code in dict.fromkeys(causes.codes) if code not in numbers]
    asked = [count_query(causes.condition(code), workspace_id, code == causes.codes[-1]) for code in others]
    # One statement counts all reasons, each by a search of its own.
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
    """Counts waiting jobs, at most one more than MAX_AHEAD_COUNTED. `in_order`: the condition holds for most jobs of
    the queue, so the queue's own index is read instead of the table, which has all ended jobs.
    """
    place = Job.workspace_id == workspace_id if workspace_id is not None else true()
    some = select(literal(1)).where(Job.state == WAITING_STATE, condition, place).limit(MAX_AHEAD_COUNTED + 1)
    if in_order:
        some = some.order_by(Job.position, Job.id)
    return select(func.count()).select_from(some.subquery()).scalar_subquery()
