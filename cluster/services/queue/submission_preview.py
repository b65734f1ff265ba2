"""Previews a submission: it would start now, and where, or it would wait, and for what. Nothing is written."""

from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.jobs.submission import JobRequest, SubmissionPreview, SubmissionWarning
from cluster.domain.people.actor import Actor
from cluster.domain.placement.types import Placement
from cluster.domain.sweeps.plan import SweepPlan, SweepRequest
from cluster.services.context import Cluster
from cluster.services.jobs.submission import CheckedSubmission, check_submission, read_largest_node
from cluster.services.placement.past_durations import expected_duration, read_durations_of_kind
from cluster.services.queue.current_explanations import NewJobRow, NewJobs, explain_new_jobs
from cluster.services.sweeps.sweep_checks import check_sweep_request
from cluster.store.jobs import Job, Sweep, first_position, job_shape
from cluster.store.nodes import Node

MAX_PREVIEWED = 12


@dataclass(frozen=True)
class SweepPreview:
    """The jobs that a sweep would make; `seconds` is the expected run time of one job, None if it is unknown."""

    plan: SweepPlan
    names: list[str]
    jobs: list[SubmissionPreview]
    """The outcomes for the first jobs, MAX_PREVIEWED at most."""
    command: list[str]
    """The command of the first job with its values; empty for a built-in model."""
    seconds: float | None
    is_limit: bool
    """Whether the expectation is only the time limit, because no job of this training has ended yet."""
    warnings: tuple[SubmissionWarning, ...]

    @property
    def first(self) -> SubmissionPreview:
        return self.jobs[0]

    @property
    def named_jobs(self) -> list[tuple[str, SubmissionPreview]]:
        """The first jobs."""
        return list(zip(self.names, self.jobs, strict=False))

    @property
    def unit_hours(self) -> float | None:
        return None if self.seconds is None else self.plan.size * self.first.units * self.seconds / 3600


def preview_submission(
    cluster: Cluster, actor: Actor, training_id: int, request: JobRequest
) -> SubmissionPreview:
    """Previews the submission and writes nothing. Raises what `submit_job` would raise."""
    with cluster.store.read() as session:
        asked = check_submission(cluster, session, actor, training_id, request)
        (preview,) = preview_checked(cluster, session, asked, 1)
    return preview


def preview_sweep(cluster: Cluster, actor: Actor, training_id: int, request: SweepRequest) -> SweepPreview:
    """Previews the sweep and writes nothing. Raises what `submit_sweep` would raise."""
    with cluster.store.read() as session:
        checked = check_sweep_request(cluster, session, actor, training_id, request)
        usual = read_durations_of_kind(session, training_id, checked.first.units)
        size = checked.plan.size
        shown = min(size, MAX_PREVIEWED)
        jobs = preview_checked(
            cluster, session, checked.asked, shown, size, request.most_at_once, is_sweep=True
        )
    names = [own["name"] for own in checked.own_columns]
    return SweepPreview(
        checked.plan,
        names,
        jobs,
        checked.own_columns[0]["command"],
        expected_duration(usual, checked.first.time_limit_seconds).seconds,
        usual is None,
        checked.warnings,
    )


def preview_checked(
    cluster: Cluster,
    session: Session,
    asked: CheckedSubmission,
    shown: int,
    count: int = 1,
    most_at_once: int | None = None,
    is_sweep: bool = False,
) -> list[SubmissionPreview]:
    """Previews the first `shown` of `count` equal jobs in their order."""
    checked, training_id = asked.request, asked.training.id
    new = NewJobs(
        new_job_rows(cluster, session, asked, shown, is_sweep),
        count,
        read_durations_of_kind(session, training_id, checked.units),
        most_at_once,
    )
    found = explain_new_jobs(cluster, session, new)
    kind, _ = read_largest_node(session)
    preview = SubmissionPreview(checked.units, kind, warnings=asked.warnings)
    names = read_node_names(session, {one.node_id for one in found.values() if isinstance(one, Placement)})
    return [
        replace(preview, node=names[one.node_id])
        if isinstance(one, Placement)
        else replace(preview, explanation=one)
        for one in found.values()
    ]


def new_job_rows(
    cluster: Cluster, session: Session, asked: CheckedSubmission, shown: int, is_sweep: bool
) -> list[NewJobRow]:
    """Makes rows with the ids that the jobs would have."""
    checked, first = asked.request, 1 + (session.scalar(select(func.max(Job.id))) or 0)
    sweep_id = 1 + (session.scalar(select(func.max(Sweep.id))) or 0) if is_sweep else None
    return [
        NewJobRow(
            job_id,
            asked.training.workspace_id,
            checked.units,
            checked.priority,
            first_position(job_id, checked.priority),
            job_shape(
                checked.units,
                checked.time_limit_seconds,
                checked.dataset_id,
                sweep_id,
                asked.environment_id,
            ),
            checked.dataset_id,
            sweep_id,
            0,
            checked.time_limit_seconds,
            checked.grace_seconds,
            cluster.clock(),
            asked.training.id,
            None,
            asked.environment_id,
        )
        for job_id in range(first, first + shown)
    ]


def read_node_names(session: Session, node_ids: set[int]) -> dict[int, str]:
    if not node_ids:
        return {}
    rows = session.execute(select(Node.id, Node.name).where(Node.id.in_(node_ids)))
    return {node_id: name for node_id, name in rows}  # noqa: C416
