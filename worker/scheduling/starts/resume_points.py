"""The checkpoint with which an attempt begins, the copy of another job's one, and where the program finds it."""

import os
import stat
from pathlib import Path

from cluster.domain.jobs.resume_points import ResumePoint, parse_resume_key
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.files.checkpoints import FOLDER, list_note_names
from cluster.files.safe_files import UnsafeFile
from cluster.services.jobs import resume_points
from cluster.services.jobs.live_attempts import LiveAttempt
from cluster.services.storage import folders
from cluster.settings import Settings
from worker.executors import attempt_folder
from worker.executors.contract import Executor, Handle, NotStarted, StartPlan, start_problem_of
from worker.executors.path_mapping import PathMapping

COPIED = "former"
"""The folder of the copy, beside `control` and `out`. The job's user owns it."""


def find_resume_point(settings: Settings, attempt: LiveAttempt, last: int) -> ResumePoint | None:
    """Finds the newest complete checkpoint of the job's attempts, from number `last` down."""
    return resume_points.find_resume_point(settings, attempt.workspace_id, attempt.job_id, last)


def find_recorded_resume_point(settings: Settings, attempt: LiveAttempt) -> ResumePoint | None:
    """Returns the resume point that the job's row names if it still exists, else the newest one."""
    if parse_resume_key(attempt.resume_from or "") is None:
        return None
    named = resume_points.find_named_resume_point(
        settings, attempt.workspace_id, attempt.job_id, attempt.resume_from
    )
    return named or find_resume_point(settings, attempt, attempt.number - 1)


def find_continue_point(settings: Settings, attempt: LiveAttempt) -> ResumePoint | None:
    """The checkpoint of the other job that the row names. None if it is gone."""
    if attempt.continues_job_id is None:
        return None
    point = resume_points.find_named_resume_point(
        settings, attempt.workspace_id, attempt.continues_job_id, attempt.continues_from
    )
    return resume_points.of_other_job(point, attempt.continues_job_id)


def find_start_point(settings: Settings, attempt: LiveAttempt) -> ResumePoint | None:
    """A checkpoint of its own goes before that of the job that it continues."""
    own = find_recorded_resume_point(settings, attempt) if attempt.resume_from else None
    return own or find_continue_point(settings, attempt)


def require_start_point(attempt: LiveAttempt, point: ResumePoint | None) -> None:
    """Refuses a continued job without its checkpoint, because its user does not want it to begin from the start.
    Raises NotStarted.
    """
    if attempt.continues_job_id is not None and point is None:
        raise NotStarted("start.checkpoint_gone", job=attempt.continues_job_id, file=attempt.continues_from)


def start_from_copy(
    executor: Executor, settings: Settings, plan: StartPlan, attempt: LiveAttempt, point: ResumePoint
) -> Handle | None:
    """Copies the other job's checkpoint before the start, in a thread of its own, because it may be large. Raises
    NotStarted.
    """
    former = folders.attempt_folder(settings, attempt.workspace_id, point.job or 0, point.attempt)
    copy_checkpoint(settings.storage_dir, former, plan, point)
    return executor.start(plan)


def map_checkpoints(folder: Path, resume: ResumePoint, view: PathMapping) -> str:
    """Returns the path at which the program of the attempt in `folder` finds the earlier attempt's checkpoints.

    Checkpoints of another job are a copy beside the attempt's own folder. Those of its own job are shown from the
    folder that we made, because the program could have put a link into the one below it.
    """
    if resume.job is not None:
        return str(view.map_path(folder / COPIED, "former"))
    former = view.map_path(folder.with_name(str(resume.attempt)) / "out", "former")
    return str(former / FOLDER)


def copy_checkpoint(storage: Path, former: Path, plan: StartPlan, resume: ResumePoint) -> None:
    """Copies the file and its notes from the former attempt's folder; may be repeated.

    The other job's program owns what is read, and may change it meanwhile: each folder is opened by its descriptor, no
    link is followed, and only regular files with one name that belong to the owner of their folder count. As root the
    copy is given to the user of the new job, who may be another one. Raises NotStarted.
    """
    try:
        with (
            safe_files.open_folder_path(storage, *former.relative_to(storage).parts, "out", FOLDER) as source,
            attempt_folder.open_created(plan) as attempt,
            external_call("checkpoints.copied"),
        ):
            safe_files.remove_tree(attempt, COPIED)
            copied = safe_files.make_folder(attempt, COPIED)
            try:
                copy_files(source, copied, resume.file, job_owner(plan))
                mode, owner = attempt_folder.out_folder_rights(plan, job_owner(plan))
                safe_files.set_owner_and_mode(copied, mode, owner)
            finally:
                os.close(copied)
    except (FileNotFoundError, UnsafeFile) as error:
        raise NotStarted("start.checkpoint_gone", job=resume.job, file=resume.file) from error
    except OSError as error:
        raise start_problem_of(str(error), error.errno) from error


def job_owner(plan: StartPlan) -> tuple[int, int]:
    uid, gid = plan.program.uid, plan.program.gid
    return (-1, -1) if uid is None or gid is None else (uid, gid)


def copy_files(source: int, target: int, name: str, owner: tuple[int, int]) -> None:
    """Copies the checkpoint, which must exist, and its notes if it has any. Raises FileNotFoundError and UnsafeFile."""
    copy_file(source, target, name, owner)
    for note in list_note_names(name):
        if safe_files.kind_at(source, note) == stat.S_IFREG:
            copy_file(source, target, note, owner)


def copy_file(source: int, target: int, name: str, owner: tuple[int, int]) -> None:
    """Copies only the bytes that the file has at this moment, so that a growing file does not fill the disk."""
    reader = safe_files.open_plain_at(source, name)
    try:
        safe_files.check_owner(reader, name, (os.fstat(source).st_uid,))
        safe_files.copy_content(reader, name, target, 0o600, owner, os.fstat(reader).st_size)
    finally:
        os.close(reader)
