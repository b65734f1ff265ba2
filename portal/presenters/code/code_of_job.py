"""The code that a job runs: its commit, and how it differs from that of the last good job."""

from collections.abc import Iterable
from dataclasses import dataclass

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.git.fetched_versions import read_version_commit
from cluster.services.jobs.last_good_job import find_last_good_job
from cluster.store.jobs import Job
from cluster.store.trainings import CodeVersion
from portal.presenters.training_code import VersionComparison, compare_versions

MOST_KEPT = 512


@dataclass(frozen=True)
class JobCodeChange:
    """The change of one file. `lines` is None if the file is no text or too long to be compared."""

    files: int
    lines: int | None


@dataclass(frozen=True)
class CodeOfJob:
    """The code of one job. `change` is None if no earlier job of the training finished, or its code is gone."""

    commit: CodeVersion | None
    last_good_job: int | None = None
    last_good_version: int | None = None
    change: JobCodeChange | None = None


kept_changes: dict[tuple[str, int, int, int], JobCodeChange] = {}
"""(storage, training, version, version) → change. Versions never change, so neither does the change between them."""


def read_code_of_job(cluster: Cluster, actor: Actor, job: Job) -> CodeOfJob | None:
    """Returns None for a built-in model."""
    if not job.code_version:
        return None
    commit = read_version_commit(cluster, job.training_id, job.code_version)
    good = find_last_good_job(cluster, actor, job)
    if good is None or job.training.deleted_at is not None:
        return CodeOfJob(commit)
    number, version = good
    try:
        return CodeOfJob(commit, number, version, read_change(cluster, job, version))
    except NotFound:
        return CodeOfJob(commit, number, version)


def read_change(cluster: Cluster, job: Job, before: int) -> JobCodeChange:
    """Raises NotFound if one of the versions is gone."""
    if before == job.code_version:
        return JobCodeChange(0, 0)
    key = (str(cluster.settings.storage_dir), job.training_id, before, job.code_version)
    if key not in kept_changes:
        if len(kept_changes) >= MOST_KEPT:
            kept_changes.clear()
        kept_changes[key] = count_change(compare_versions(cluster, job.training, before, job.code_version))
    return kept_changes[key]


def count_change(comparison: VersionComparison) -> JobCodeChange:
    whole = not comparison.left_out and all(file.lines is not None for file in comparison.files)
    lines = sum(count_changed_lines(file.lines or ()) for file in comparison.files) if whole else None
    return JobCodeChange(len(comparison.files) + comparison.left_out, lines)


def count_changed_lines(diff: Iterable[str]) -> int:
    """Counts the changed lines of a unified diff. A line that was replaced counts once."""
    total = added = removed = 0
    for place, line in enumerate(diff):
        if place < 2:
            continue  # The names of the two files.
        if line.startswith("+"):
            added += 1
        elif line.startswith("-"):
            removed += 1
        else:
            total, added, removed = total + max(added, removed), 0, 0
    return total + max(added, removed)
