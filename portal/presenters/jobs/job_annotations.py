"""The headline metric, the tags and the note of a job as REST returns them."""

from collections.abc import Sequence
from typing import Any

from cluster.services.jobs.chosen_jobs import read_job_tags
from cluster.services.jobs.queries import JobRecord
from cluster.store.jobs import Job
from cluster.words.metrics import format_headline
from portal.i18n.translate import request_language
from portal.web.request_context import current_cluster


def describe_annotations(job: Job | JobRecord, tags: Sequence[str] | None = None) -> dict[str, Any]:
    """Describes the annotations of a job. If `tags` is None, the tags of this one job are read."""
    if tags is None:
        tags = job.tags if isinstance(job, JobRecord) else read_job_tags(current_cluster(), job.id)
    return {"headline": describe_headline(job), "tags": list(tags), "note": job.note}


def describe_headline(job: Job | JobRecord) -> dict[str, Any] | None:
    headline = job.headline
    if headline is None:
        return None
    return {
        "metric": headline.metric,
        "value": headline.value,
        "is_best": headline.is_best,
        "lower_is_better": headline.lower_is_better,
        "text": format_headline(headline, request_language()),
    }
