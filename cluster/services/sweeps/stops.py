"""Stops all live jobs of a sweep at once, on a person's request."""

from datetime import datetime

from sqlalchemy import null, select, update
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import LIVE_JOB_STATES, DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import events
from cluster.services.notifications.job_events import write_sweep_event
from cluster.services.people.access import sweep_relation
from cluster.services.sweeps.queries import count_job_states, load_sweep
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, Sweep

STARTED_STATES = (JobState.STARTING, JobState.RUNNING)


def stop_remaining_jobs(session: Session, sweep: Sweep, now: datetime, by: Actor | None = None) -> int:
    """Stops every live job of the sweep that was not stopped before, locked in the order of the ids; returns how many.

    `by` is the person who requests it; None: the cause for which the sweep was marked.
    """
    wanted = (Job.sweep_id == sweep.id, Job.desired == DesiredState.RUN)
    living = (*wanted, Job.state.in_((JobState.WAITING, *STARTED_STATES)))
    number = len(session.scalars(select(Job.id).where(*living).order_by(Job.id).with_for_update()).all())
    if by is not None:
        mark_stopped_by_hand(session, sweep, now, by)
    data = {"sweep_id": sweep.id, "cause": sweep.stop_code, **(sweep.stop_data or {})}
    wish = {"desired": DesiredState.STOP, "stopped_by": by.user_id if by else None}
    busy = (*wanted, Job.state.in_(STARTED_STATES))
    events.add_job_events_by_query(
        session, select(Job.id).where(*busy), now, JobState.STOPPING, "job.stopped_with_sweep", data
    )
    session.execute(update(Job).where(*busy).values(state=JobState.STOPPING, **wish))
    waiting = (*wanted, Job.state == JobState.WAITING)
    events.add_job_events_by_query(
        session, select(Job.id).where(*waiting), now, JobState.STOPPED, "exit.stopped_with_sweep", data
    )
    end = {
        "state": JobState.STOPPED,
        "ended_at": now,
        "end_code": "exit.stopped_with_sweep",
        "end_data": data,
    }
    session.execute(update(Job).where(*waiting).values(waiting_code=None, waiting_data=null(), **end, **wish))
    write_sweep_event(session, sweep, now)
    sweep.stopping = False
    return number


def mark_stopped_by_hand(session: Session, sweep: Sweep, now: datetime, by: Actor) -> None:
    """Marks the sweep after its jobs are locked. Recording an end locks in the same order, so that neither waits for
    the other.
    """
    session.refresh(sweep, ("stopped_at", "stop_code", "stop_data"), with_for_update=True)
    if sweep.stopped_at is None:
        sweep.stopped_at, sweep.stop_code, sweep.stop_data = now, "sweep.stopped_by", {"by": by.name}


def stop_sweep(cluster: Cluster, actor: Actor, sweep_id: int) -> int:
    """Stops the sweep's jobs and returns their number. Waiting jobs have ended when this returns, and running ones are
    being stopped. The person who submitted the sweep, the training's owner, the workspace's manager and administrators
    may. There is one audit entry. Raises Forbidden, and Conflict if none of its jobs is live.
    """
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        sweep = load_sweep(session, actor, sweep_id)
        require_permission("sweep.stop", sweep_relation(actor, sweep), sweep_id)
        if not any(state in LIVE_JOB_STATES for state in count_job_states(session, sweep_id)):
            raise Conflict("sweep.has_ended", id=sweep_id)
        number = stop_remaining_jobs(session, sweep, now, actor)
        add_audit_entry(session, now, actor, "sweep.stop_requested", sweep_id, jobs=number)
    events.publish_all_jobs(cluster)
    return number


def can_stop_sweep(actor: Actor, sweep: Sweep) -> bool:
    return is_allowed("sweep.stop", sweep_relation(actor, sweep))
