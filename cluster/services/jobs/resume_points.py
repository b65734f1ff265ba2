"""Finds the checkpoint from which a job resumes: the newest complete one of its newest attempt that has any."""

from dataclasses import replace

from cluster.domain.jobs.resume_points import ResumePoint, parse_resume_key
from cluster.files.checkpoints import CheckpointFile, list_checkpoints
from cluster.services.storage import folders
from cluster.settings import Settings

MOST_ATTEMPTS = 20
"""The number of earlier attempts that are examined, the newest first."""


def find_resume_point(settings: Settings, workspace_id: int, job_id: int, last: int) -> ResumePoint | None:
    """Looks at the attempts from number `last` down; None if none has left a complete checkpoint."""
    for number in range(last, max(0, last - MOST_ATTEMPTS), -1):
        complete = [
            each
            for each in list_attempt_checkpoints(settings, workspace_id, job_id, number)
            if is_complete_checkpoint(each)
        ]
        if complete:
            newest = max(complete, key=lambda each: (each.epoch or 0, each.step or 0, each.name))
            return ResumePoint(number, newest.name, newest.epoch or 0, newest.step)
    return None


def find_named_resume_point(
    settings: Settings, workspace_id: int, job_id: int, key: str | None
) -> ResumePoint | None:
    """Returns the checkpoint with that key if it still exists and is complete."""
    named = parse_resume_key(key or "")
    if named is None:
        return None
    number, file = named
    for each in list_attempt_checkpoints(settings, workspace_id, job_id, number):
        if each.name == file and is_complete_checkpoint(each):
            return ResumePoint(number, file, each.epoch or 0, each.step)
    return None


def of_other_job(point: ResumePoint | None, job_id: int) -> ResumePoint | None:
    return replace(point, job=job_id) if point is not None else None


def list_attempt_checkpoints(
    settings: Settings, workspace_id: int, job_id: int, number: int
) -> list[CheckpointFile]:
    """Lists the checkpoints. Programs write these files, so only plain files with plain names are opened."""
    folder = folders.attempt_folder(settings, workspace_id, job_id, number)
    return list_checkpoints(settings.storage_dir, *folder.relative_to(settings.storage_dir).parts, "out")


def is_complete_checkpoint(checkpoint: CheckpointFile) -> bool:
    """A checkpoint is complete once it has its note, which is written last and names the epoch."""
    return checkpoint.size > 0 and checkpoint.epoch is not None
