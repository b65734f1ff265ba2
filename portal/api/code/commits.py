"""The commit of a version of code as REST returns it."""

from typing import Any

from cluster.services.git.fetched_versions import read_version_commit
from cluster.store.jobs import Job
from cluster.store.trainings import CodeVersion
from portal.web.request_context import current_cluster


def describe_commit(version: CodeVersion | None) -> dict[str, Any] | None:
    """Returns None for a version that did not come from git."""
    if version is None or version.commit_id is None:
        return None
    return {"id": version.commit_id, "author": version.commit_author, "subject": version.commit_subject}


def describe_job_commit(job: Job) -> dict[str, Any] | None:
    """Describes the commit of the code that the job runs."""
    if not job.code_version:
        return None
    return describe_commit(read_version_commit(current_cluster(), job.training_id, job.code_version))
