"""Finds the checkpoint from which a job resumes: the newest complete one of its newest attempt that has any."""

from pathlib import Path

from cluster.domain.jobs.resume_points import ResumePoint, parse_resume_key
from cluster.files.checkpoints import FOLDER, CheckpointFile, list_checkpoints
from cluster.services.jobs.live_attempts import LiveAttempt
from cluster.services.storage import folders
from cluster.settings import Settings
from worker.executors.path_mapping import PathMapping

MOST_ATTEMPTS = 20
"""So many earlier attempts are looked at, the newest first."""


def find_resume_point(settings: Settings, attempt: LiveAttempt, last: int) -> ResumePoint | None:
    """Looks at the attempts from number `last` down; None where none has left a complete checkpoint."""
    for number in range(last, max(0, last - MOST_ATTEMPTS), -1):
        complete = [
            each
            for each in list_attempt_checkpoints(settings, attempt, number)
            if is_complete_checkpoint(each)
        ]
        if complete:
            newest = max(complete, key=lambda each: (each.epoch or 0, each.step or 0, each.name))
            return ResumePoint(number, newest.name, newest.epoch or 0, newest.step)
    return None


def find_recorded_resume_point(settings: Settings, attempt: LiveAttempt) -> ResumePoint | None:
    """The one that the job's row names, where it is still there; else the newest that is."""
    named = parse_resume_key(attempt.resume_from or "")
    if named is None:
        return None
    number, file = named
    for each in list_attempt_checkpoints(settings, attempt, number):
        if each.name == file and is_complete_checkpoint(each):
            return ResumePoint(number, file, each.epoch or 0, each.step)
    return find_resume_point(settings, attempt, attempt.number - 1)


def list_attempt_checkpoints(settings: Settings, attempt: LiveAttempt, number: int) -> list[CheckpointFile]:
    """Written by strangers: `cluster.files` opens nothing but plain files with plain names."""
    folder = folders.attempt_folder(settings, attempt.workspace_id, attempt.job_id, number)
    return list_checkpoints(settings.storage_dir, *folder.relative_to(settings.storage_dir).parts, "out")


def is_complete_checkpoint(checkpoint: CheckpointFile) -> bool:
    """Its note is written last, and says how far it had come."""
    return checkpoint.size > 0 and checkpoint.epoch is not None


def map_checkpoints(folder: Path, resume: ResumePoint, view: PathMapping) -> str:
    """Where the program of the attempt in `folder` finds the checkpoints of the former one.

    The folder that we made is shown, not the one in it: the program could have put a link there.
    """
    former = view.map_path(folder.with_name(str(resume.attempt)) / "out", "former")
    return str(former / FOLDER)
