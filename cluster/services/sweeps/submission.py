"""Submits sweeps: all jobs of a sweep or none, in one transaction."""

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState
from cluster.domain.sweeps import plan as sweeps
from cluster.services.context import Cluster
from cluster.services.jobs import submission
from cluster.services.jobs.events import add_job_events_by_query, publish_all_jobs
from cluster.services.sweeps.sweep_checks import check_sweep_request
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, Sweep
from cluster.store.sql.bulk_insert import insert_jobs


def submit_sweep(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    request: sweeps.SweepRequest,
    idempotency: tuple[str, str] | None = None,
) -> Sweep:
    """Submits all jobs or none, with one audit entry. Raises what `jobs.submit_job` raises.

    The jobs are computed before the transaction begins, so that the transaction is short.
    """
    now = cluster.clock()
    with cluster.store.read() as session:
        if idempotency and (answered := submission.read_idempotent_answer(session, actor, *idempotency)):
            return session.get_one(Sweep, answered)
        checked = check_sweep_request(cluster, session, actor, training_id, request)
    lock = f"submit {actor.user_id}" if idempotency else None
    with cluster.store.write(lock, is_long=True) as session:
        if idempotency and (answered := submission.read_idempotent_answer(session, actor, *idempotency)):
            return session.get_one(Sweep, answered)
        asked = submission.check_submission(cluster, session, actor, training_id, checked.first)
        training = asked.training
        sweep = Sweep(
            workspace_id=training.workspace_id,
            training_id=training.id,
            user_id=actor.user_id,
            name=checked.name,
            plan=checked.plan.to_data() | {"command": list(request.job.command)},
            jobs=checked.plan.size,
            most_at_once=request.most_at_once,
            stop_on_trouble=request.stop_on_trouble,
            submitted_at=now,
        )
        session.add(sweep)
        session.flush()
        shared = submission.job_columns(asked, actor, now) | {"sweep_id": sweep.id}
        insert_jobs(session, shared, checked.own_columns)
        add_job_events_by_query(
            session, select(Job.id).where(Job.sweep_id == sweep.id), now, JobState.WAITING, "job.submitted"
        )
        if idempotency:
            submission.store_idempotent_answer(session, actor, *idempotency, sweep.id, now)
        add_audit_entry(session, now, actor, "sweep.submitted", sweep.id, name=sweep.name, jobs=sweep.jobs)
    publish_all_jobs(cluster)
    return sweep
