"""The answers of REST about a job that was just submitted, or would be."""

from datetime import timedelta
from typing import Any

from cluster.domain.jobs.submission import SubmissionPreview
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.reasons import NotYetExamined
from cluster.store.jobs import Job
from portal.api.blueprint import describe_sentence
from portal.api.jobs.job_answers import describe_job
from portal.api.jobs.situation_answers import describe_wait_explanation
from portal.web.request_context import current_cluster

JUST_NOW = timedelta(seconds=2)
"""After this time a repeated request gets the current reason of its job."""


def describe_new_job(job: Job) -> dict[str, Any]:
    """The answer has no reason, because it needs the whole queue: a client asks for it once the scheduler has examined
    the job.
    """
    is_new = current_cluster().clock() - job.submitted_at < JUST_NOW
    return describe_job(job, WaitingExplanation.of(NotYetExamined()) if is_new else None, tags=())


def describe_preview(preview: SubmissionPreview) -> dict[str, Any]:
    return {
        "starts_now": preview.starts_now,
        "waiting": describe_wait_explanation(preview.explanation) if preview.explanation else None,
        "warnings": [describe_sentence(warning.code, dict(warning.data)) for warning in preview.warnings],
    }
