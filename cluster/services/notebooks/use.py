"""Records when a notebook answered and was used, announces and stops idle ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.notebooks.idle_time import Announce, InUse, StopIdle, decide_idle
from cluster.domain.people.actor import Actor
from cluster.domain.states import DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import events, stop_requests
from cluster.services.leases import HeldLease, check_lease
from cluster.services.notebooks.notebook_rows import read_notebook
from cluster.services.notifications.job_events import write_idle_notebook_event
from cluster.services.people.users import service_actor
from cluster.store.jobs import Job, Notebook

USE_WRITTEN_EVERY = 60.0
"""Seconds. A later use within this time changes no row."""


@dataclass(frozen=True)
class NotebookUse:
    """The answer of a notebook's server about its use."""

    attempt: int
    used_at: datetime | None
    """The time of the last use; None if the server does not say."""
    is_busy: bool = False
    address: str | None = None


def record_use(cluster: Cluster, held: HeldLease, uses: Mapping[int, NotebookUse]) -> None:
    """Writes the use of notebooks, given by job id. Raises LeaseLost."""
    if not uses:
        return
    now, changed = cluster.clock(), set[int]()
    actor = service_actor(cluster)
    with cluster.store.write() as session:
        check_lease(session, held)
        for job_id, use in uses.items():
            job = session.get(Job, job_id, with_for_update=True)
            notebook = session.get(Notebook, job_id)
            if (
                job is None
                or notebook is None
                or job.fence != use.attempt
                or job.state is not JobState.RUNNING
            ):
                continue
            if record_one(session, job, notebook, use, now) | apply_idle(
                cluster, session, actor, job, notebook
            ):
                changed.add(job_id)
    cluster.events.publish_all(*(("jobs", job_id) for job_id in changed))
    for job_id in changed:
        cluster.events.publish("queue", job_id)


def record_one(session: Session, job: Job, notebook: Notebook, use: NotebookUse, now: datetime) -> bool:
    """Records one answer. Returns whether pages show something new."""
    is_new = notebook.ready_attempt != job.fence
    if is_new:
        notebook.ready_attempt, notebook.address = job.fence, use.address
        notebook.used_at, notebook.warned_at, notebook.stops_at = now, None, None
        events.add_job_event(session, job, now, job.state, "notebook.ready", {"attempt": job.fence})
    notebook.is_busy = use.is_busy
    used_at = now if use.is_busy else use.used_at
    before = notebook.used_at or now
    if used_at is not None and (used_at - before).total_seconds() >= USE_WRITTEN_EVERY:
        notebook.used_at = min(used_at, now)
    return is_new


def apply_idle(cluster: Cluster, session: Session, actor: Actor, job: Job, notebook: Notebook) -> bool:
    now = cluster.clock()
    limit = cluster.settings.notebook_idle_limit
    used_at = notebook.used_at or now
    match decide_idle(now, used_at, notebook.is_busy, limit, notebook.stops_at):
        case InUse():
            had = notebook.stops_at is not None
            notebook.warned_at = notebook.stops_at = None
            return had
        case Announce(stops_at=stops_at):
            if notebook.stops_at is not None:
                return False
            notebook.warned_at, notebook.stops_at = now, stops_at
            data = {"stops_at": stops_at.isoformat()}
            events.add_job_event(session, job, now, job.state, "notebook.idle_announced", data)
            write_idle_notebook_event(session, job, stops_at, now)
            return True
        case StopIdle(idle_since=since):
            if job.desired is DesiredState.STOP:
                return False
            events.add_job_event(
                session, job, now, job.state, "notebook.idle_stop", {"since": since.isoformat()}
            )
            stop_requests.request_stop(session, actor, job, now)
            return True


def keep_notebook(cluster: Cluster, actor: Actor, job_id: int) -> None:
    """Records a use of the notebook by its person. Raises NotFound for others, and Conflict if it does not run."""
    state = read_notebook(cluster, actor, job_id)
    if state.job.user_id != actor.user_id:
        raise NotFound("notebook", job_id)
    if state.job.state is not JobState.RUNNING:
        raise Conflict("notebook.not_ready", id=job_id)
    now = cluster.clock()
    with cluster.store.write() as session:
        notebook = session.get_one(Notebook, job_id, with_for_update=True)
        notebook.used_at, notebook.warned_at, notebook.stops_at = now, None, None
    cluster.events.publish("jobs", job_id)
