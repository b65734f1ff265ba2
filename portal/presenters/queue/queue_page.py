"""The values of the queue's page: waiting rows, running rows, past reasons and the units that each node lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.domain.people.actor import Actor
from cluster.domain.placement.types import NodeUnits
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.services.context import Cluster
from cluster.services.jobs import queries as job_queries
from cluster.services.jobs.queries import JobLine
from cluster.services.queue import queries
from cluster.services.queue.queries import OpenedJob, QueueFilters, QueueView
from cluster.services.queue.running_jobs import RunningJob
from cluster.store.jobs import Job, JobEvent


@dataclass(frozen=True)
class QueueRow:
    """A waiting job. `job` is None if the reader may not see it; the row then shows its position and size alone."""

    id: int
    job: Job | JobLine | None
    units: int
    explanation: WaitingExplanation
    waited: float
    linked_job_ids: tuple[int, ...] = ()
    """The jobs that the sentence names and that the reader may see."""


@dataclass(frozen=True)
class NodeShortage:
    """One node and the number of units that it lacks for a job; 0 if the job would fit."""

    node: NodeUnits
    missing: int


@dataclass(frozen=True)
class RunningRow:
    """A running job; `share_done` is the progress that the program reports, 0 to 1; None if it reports none."""

    job: JobLine | None
    units: int
    node: str
    ends_at: datetime | None
    ran: float | None
    share_done: float | None


def list_job_owners(view: QueueView, actor: Actor, chosen: int | None) -> list[tuple[int, str]]:
    """The owners of the jobs on this page by name, for the filter; the reader is listed separately."""
    rows = [line.job for line in view.waiting] + [run.job for run in view.running]
    names = {job.user_id: job.user_name for job in rows if job is not None and job.user_id != actor.user_id}
    if chosen is not None and chosen != actor.user_id:
        names.setdefault(chosen, f"user-{chosen}")
    return sorted(names.items(), key=lambda each: each[1])


def next_expected_start(lines: list[QueueRow], filters: QueueFilters, moment: datetime) -> datetime | None:
    """The first expected start among these rows; None if none is expected, or if the rows are deep in the queue."""
    if filters.after or filters.after_head or filters.reason:
        return None
    starts = (line.explanation.starts_at for line in lines)
    return min((start for start in starts if start and start > moment), default=None)


def place_behind(lines: list[QueueRow], opened: OpenedJob | None) -> int:
    """The number of rows up to and including the opened one; 0 if none is open."""
    return next((place for place, line in enumerate(lines, 1) if opened and line.id == opened.job.id), 0)


def queue_rows(view: QueueView, moment: datetime) -> list[QueueRow]:
    return [queue_row(line.id, line.job, line.units, line.explanation, moment) for line in view.waiting]


def queue_row(
    job_id: int,
    job: Job | JobLine | None,
    units: int,
    explanation: WaitingExplanation,
    moment: datetime,
    others: tuple[int, ...] = (),
) -> QueueRow:
    return QueueRow(
        job_id,
        job,
        units,
        explanation,
        (moment - job.submitted_at).total_seconds() if job else 0.0,
        others,
    )


def queue_row_of_job(cluster: Cluster, actor: Actor, job: Job) -> QueueRow:
    """The row on the job's own page, with links to the jobs and workspaces that the sentence names."""
    explanation = queries.read_waiting_explanation(cluster, job)
    visible_ids = job_queries.filter_visible_ids(cluster, actor, explanation.named_job_ids - {job.id})
    return queue_row(job.id, job, job.units, explanation, cluster.clock(), tuple(sorted(visible_ids)))


@dataclass(frozen=True)
class PastReason:
    """One reason that the job had, and when; `until` None: still."""

    code: str
    data: Mapping[str, Any]
    since: datetime
    until: datetime | None


def list_past_reasons(events: Sequence[JobEvent]) -> list[PastReason]:
    """Lists the reasons why a job has waited so far, from its history."""
    reasons = []
    for event, following in zip(events, [*events[1:], None], strict=False):
        if event.code.startswith("waiting."):
            reasons.append(PastReason(event.code, event.data, event.at, following.at if following else None))
    return reasons


def list_node_shortages(nodes: list[NodeUnits], units: int) -> list[NodeShortage]:
    """The node that lacks least first."""
    shorts = [NodeShortage(node, max(0, units - len(node.free))) for node in nodes]
    return sorted(shorts, key=lambda short: (not short.node.takes_jobs, short.missing, short.node.name))


def running_rows(view: QueueView, moment: datetime) -> list[RunningRow]:
    """Rows in the order of their ends; jobs without an expected end follow in the order in which they started."""
    runs = [running_row(run, moment) for run in view.running]
    return sorted(runs, key=lambda run: (run.ends_at is None, run.ends_at or moment, -(run.ran or 0.0)))


def running_row(run: RunningJob, moment: datetime) -> RunningRow:
    ran = (moment - run.started_at).total_seconds() if run.started_at else None
    return RunningRow(run.job, run.units, ", ".join(run.nodes), run.ends_at, ran, run.share_done)
