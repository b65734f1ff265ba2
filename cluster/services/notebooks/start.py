"""Starts the notebook of a person and a training: a job that waits in the queue as any other."""

import secrets

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.notebooks.jupyter_server import COMMAND
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobKind, Launcher
from cluster.services.context import Cluster
from cluster.services.jobs.queries import load_job
from cluster.services.jobs.submission import (
    CheckedSubmission,
    check_submission,
    job_columns,
    job_from_row,
    new_job_row,
    submitted_event,
)
from cluster.services.notebooks import editor_environment
from cluster.services.notebooks.notebook_rows import find_live_notebook
from cluster.store.audit import AuditEntry, audit_entry_columns
from cluster.store.jobs import Job, JobEvent, Notebook
from cluster.store.sql.bulk_insert import reserve_ids
from cluster.store.sql.multi_table_insert import insert_rows
from cluster.store.trainings import WorkingCopy

GRACE_SECONDS = 10
"""The time in which Jupyter ends its kernels and then itself."""


def start_notebook(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    time_limit_seconds: int | None = None,
    dataset_id: int | None = None,
    units: int = 1,
) -> Job:
    """Returns the person's notebook of the training if one has not ended, else a new one.

    Raises what `submit_job` raises, and Refused on `notebook` while JupyterLab is not installed.
    """
    for _ in range(2):
        try:
            return try_start(cluster, actor, training_id, time_limit_seconds, dataset_id, units)
        except IntegrityError:
            continue  # Another click was faster, and its notebook is returned.
    raise Refused("notebook", "notebook.being_started")


def try_start(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    time_limit_seconds: int | None,
    dataset_id: int | None,
    units: int,
) -> Job:
    now = cluster.clock()
    request = JobRequest(
        name="",
        units=units,
        launcher=Launcher.PLAIN,
        command=(COMMAND,),
        dataset_id=dataset_id,
        time_limit_seconds=time_limit_seconds,
        grace_seconds=GRACE_SECONDS,
        kind=JobKind.NOTEBOOK,
    )
    with cluster.store.write() as session:
        living = find_live_notebook(session, actor.user_id, training_id)
        if living is not None:
            return load_job(session, actor, living.id)
        asked = check_submission(cluster, session, actor, training_id, request)
        require_editor(cluster, session)
        (job_id,) = reserve_ids(session, 1)
        version = ensure_working_copy(session, asked, actor)
        columns = job_columns(asked, actor, now) | {"code_version": version}
        row = new_job_row(job_id, columns)
        about = {"name": row["name"], "units": row["units"]}
        insert_rows(
            session.connection(),
            (Job.__table__, row),
            (JobEvent.__table__, submitted_event(job_id, now)),
            (AuditEntry.__table__, audit_entry_columns(now, actor, "notebook.started", job_id, about)),
        )
        session.add(Notebook(job_id=job_id, token=secrets.token_urlsafe(32), is_busy=False))
    cluster.events.publish_all(("queue", job_id), ("jobs", job_id))
    return job_from_row(row, asked)


def require_editor(cluster: Cluster, session: Session) -> None:
    executor = cluster.settings.executor.capabilities
    if executor.has_environment_in_image or executor.is_simulated:
        return
    if editor_environment.load_editor(session) is None:
        operation = editor_environment.load_editor_build(session)
        raise Refused("notebook", "notebook.no_editor", operation=operation)


def ensure_working_copy(session: Session, asked: CheckedSubmission, actor: Actor) -> int:
    """Returns the version of the code with which the person's working copy began; 0 if it began empty."""
    key = (asked.training.id, actor.user_id)
    copy = session.get(WorkingCopy, key)
    if copy is None:
        copy = WorkingCopy(training_id=key[0], user_id=key[1], code_version=asked.training.code_version)
        session.add(copy)
    return copy.code_version
