"""Continues a stopped or failed job: a new job of the same code, parameters and units begins with its checkpoint."""

from dataclasses import dataclass, replace

from cluster.domain.errors import Conflict, Refused
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.names import LONGEST_JOB_NAME
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.jobs import resume_points
from cluster.services.jobs.file_deletions import require_files
from cluster.services.jobs.queries import read_job
from cluster.services.jobs.reruns import request_like
from cluster.services.jobs.submission import submit_job
from cluster.store.jobs import Job

CONTINUABLE_STATES = (JobState.STOPPED, JobState.FAILED)
SUFFIX = "-continued"


@dataclass(frozen=True)
class Continuation:
    """The new job as the form proposes it: the request, and the checkpoint with which it begins."""

    job: Job
    point: ResumePoint
    request: JobRequest


def find_continue_point(cluster: Cluster, job: Job) -> ResumePoint | None:
    """Returns the job's newest complete checkpoint; without one, the checkpoint with which the job itself began."""
    if job.files_unwanted_at is not None:
        return None
    settings = cluster.settings
    own = resume_points.find_resume_point(settings, job.workspace_id, job.id, job.fence)
    if own is not None:
        return resume_points.of_other_job(own, job.id)
    if job.continues_job_id is None:
        return None
    former = resume_points.find_named_resume_point(
        settings, job.workspace_id, job.continues_job_id, job.continues_from
    )
    return resume_points.of_other_job(former, job.continues_job_id)


def read_continuation(cluster: Cluster, actor: Actor, job_id: int, name: str = "") -> Continuation:
    """Reads what the form proposes: people who see a job may read its checkpoints. Raises NotFound, Gone, Conflict,
    and Refused on `continue_from`.
    """
    job = read_job(cluster, actor, job_id)
    if job.state not in CONTINUABLE_STATES:
        raise Conflict("job.not_continuable", id=job.id, state=job.state.value)
    require_files(job)
    point = find_continue_point(cluster, job)
    if point is None:
        raise Refused("continue_from", "job.no_checkpoint", id=job.id)
    return Continuation(job, point, continued_request(job, point, name))


def continued_request(job: Job, point: ResumePoint, name: str) -> JobRequest:
    """Returns the job's own request with the checkpoint, and with the same version of own code."""
    is_own_code = job.training.kind is not TrainingKind.BUILT_IN
    return replace(
        request_like(job),
        name=name or continued_name(job.name),
        code_version=job.code_version if is_own_code else None,
        continues=point,
    )


def continued_name(name: str) -> str:
    """Returns `lenet-continued` for `lenet`, and the same name for a job that has it already."""
    return name if name.endswith(SUFFIX) else f"{name[: LONGEST_JOB_NAME - len(SUFFIX)].rstrip('-')}{SUFFIX}"


def continue_job(
    cluster: Cluster,
    actor: Actor,
    job_id: int,
    name: str = "",
    idempotency: tuple[str, str] | None = None,
) -> Job:
    """Submits the new job with all checks of a submission. Raises what `read_continuation` and `submit_job` raise."""
    found = read_continuation(cluster, actor, job_id, name)
    return submit_job(cluster, actor, found.job.training_id, found.request, idempotency)
