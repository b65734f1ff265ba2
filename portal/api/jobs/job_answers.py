"""Jobs as REST returns them, with the sentences about them."""

from collections.abc import Sequence
from typing import Any

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.states import JobState
from cluster.services.images.environment_list import read_ran_in
from cluster.services.jobs import file_deletions
from cluster.services.jobs.queries import JobRecord
from cluster.store.jobs import Job
from portal.api.blueprint import describe_named, describe_sentence
from portal.api.code.commits import describe_job_commit
from portal.api.jobs.situation_answers import describe_reason
from portal.i18n.messages import localized_word
from portal.presenters.jobs.job_annotations import describe_annotations
from portal.presenters.unit_words import installation_unit_kind
from portal.web.request_context import current_cluster


def describe_job(
    job: Job | JobRecord, explanation: WaitingExplanation | None = None, tags: Sequence[str] | None = None
) -> dict[str, Any]:
    """Describes a job. Without `explanation` a waiting job's reason is read for this one job, and so are the `tags` of
    a `Job`.
    """
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "state_word": localized_word("state.job", job.state.value),
        "workspace": describe_named(job.workspace),
        "training": describe_named(job.training),
        "user": describe_named(job.user),
        "dataset": describe_named(job.dataset),
        "units": job.units,
        "unit_kind": installation_unit_kind().value,
        "launcher": job.launcher.value,
        "command": job.command,
        "variables": job.variables,
        "priority": job.priority,
        "time_limit_seconds": job.time_limit_seconds,
        "grace_seconds": job.grace_seconds,
        "retries": job.retries,
        "memory_bytes": job.memory_bytes,
        "retries_used": job.retries_used,
        "resumes_from": job.resume_from,
        "continues_job_id": job.continues_job_id,
        "code_version": job.code_version or None,
        "environment_id": job.environment_id,
        "submitted_at": job.submitted_at,
        "dispatched_at": job.dispatched_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "attempts": job.fence,
        "exit_code": job.exit_code,
        **describe_annotations(job, tags),
        "held_at": job.held_at if job.state is JobState.WAITING else None,
        "waiting": describe_reason(job, explanation),
        "end": describe_sentence(job.end_code, job.end_data),
        "storage_bytes": job.storage_bytes,
        "files_deleted": describe_sentence(
            file_deletions.deletion_code(job), file_deletions.deletion_data(job)
        )
        if job.files_unwanted_at
        else None,
        "url": f"{current_cluster().settings.public_url}/jobs/{job.id}",
    }


def describe_one_job(job: Job) -> dict[str, Any]:
    """Describes one job with the fields that take a query of their own, which lists leave out."""
    return describe_job(job) | {"commit": describe_job_commit(job), "ran_in": describe_ran_in(job)}


def describe_ran_in(job: Job) -> dict[str, Any] | None:
    found = read_ran_in(current_cluster(), [job]).get(job.id)
    return {"id": found.id, "name": found.name, "digest": found.digest} if found else None
