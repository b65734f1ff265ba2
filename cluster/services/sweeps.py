"""Sweeps: many jobs accepted in one transaction, looked at together, stopped together (T8)."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import Session, joinedload

from cluster.domain import sweeps
from cluster.domain.errors import Conflict, NotFound
from cluster.domain.jobs import Estimate, JobRequest, Warned
from cluster.domain.models import MODELS, Value
from cluster.domain.people import Actor
from cluster.domain.permissions import may, require
from cluster.domain.states import LIVING_JOB_STATES, JobState, TrainingKind
from cluster.domain.sweep_names import names_of
from cluster.domain.sweeps import SweepPlan, SweepRequest
from cluster.services import jobs
from cluster.services.context import Cluster
from cluster.services.history import expect, read_kind_spans
from cluster.services.relations import to_sweep
from cluster.services.sweep_stops import note_all, ring, stop_rest
from cluster.services.trainings import load_training
from cluster.store.audit import write_entry
from cluster.store.jobs import Job, Sweep
from cluster.store.many_jobs import insert_jobs
from cluster.store.trainings import Training
from cluster.store.visibility import sees_training
from cluster.store.workspaces import Workspace

LOADS = (
    joinedload(Sweep.workspace).joinedload(Workspace.manager),
    joinedload(Sweep.training).joinedload(Training.owner),
    joinedload(Sweep.training).selectinload(Training.members),
    joinedload(Sweep.training).joinedload(Training.workspace).selectinload(Workspace.members),
    joinedload(Sweep.user),
)


@dataclass(frozen=True)
class SweepEstimate:
    """What would be made; `seconds` is how long one job is expected to run, None where nothing tells it."""

    plan: SweepPlan
    names: list[str]
    first: Estimate
    command: list[str]
    """The first job's, with its values; empty for a model."""
    seconds: float | None
    is_limit: bool
    """The expectation is only the time limit: no job of this training has ended yet."""
    warnings: tuple[Warned, ...]

    @property
    def unit_hours(self) -> float | None:
        return None if self.seconds is None else self.plan.size * self.first.units * self.seconds / 3600


@dataclass(frozen=True)
class Checked:
    """A sweep that may be made: the first of its jobs, and of each one the columns that are its own."""

    plan: SweepPlan
    name: str
    first: JobRequest
    own: list[dict[str, Any]]
    warnings: tuple[Warned, ...]


def submit_sweep(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    request: SweepRequest,
    idempotency: tuple[str, str] | None = None,
) -> Sweep:
    """All jobs or none, and one audit entry. Raises what `jobs.submit_job` raises.

    The list is made before the transaction begins, so that others wait for the writing alone.
    """
    now = cluster.clock()
    with cluster.store.read() as session:
        if idempotency and (answered := jobs.read_answer(session, actor, *idempotency)):
            return session.get_one(Sweep, answered)
        checked = check(cluster, session, actor, training_id, request)
    with cluster.store.write(lock=f"submit {actor.user_id}" if idempotency else None) as session:
        if idempotency and (answered := jobs.read_answer(session, actor, *idempotency)):
            return session.get_one(Sweep, answered)
        training, first, _ = jobs.check_request(cluster, session, actor, training_id, checked.first)
        sweep = Sweep(
            workspace_id=training.workspace_id,
            training_id=training.id,
            user_id=actor.user_id,
            name=checked.name,
            plan=checked.plan.to_data(),
            jobs=checked.plan.size,
            most_at_once=request.most_at_once,
            stop_on_trouble=request.stop_on_trouble,
            submitted_at=now,
        )
        session.add(sweep)
        session.flush()
        shared = jobs.columns_of(training, first, actor, now) | {"sweep_id": sweep.id}
        insert_jobs(session, shared, checked.own)
        note_all(
            session, select(Job.id).where(Job.sweep_id == sweep.id), now, JobState.WAITING, "job.submitted"
        )
        if idempotency:
            jobs.keep_answer(session, actor, *idempotency, sweep.id, now)
        write_entry(session, now, actor, "sweep.submitted", sweep.id, name=sweep.name, jobs=sweep.jobs)
    ring(cluster)
    return sweep


def check(
    cluster: Cluster, session: Session, actor: Actor, training_id: int, request: SweepRequest
) -> Checked:
    """The same checks for preview, form and REST."""
    training = load_training(session, actor, training_id)
    model = MODELS[training.model or ""] if training.kind is TrainingKind.BUILT_IN else None
    plan = sweeps.check_sweep(request, model)
    if model is None:
        sweeps.check_commands(request.job.command, plan)
        command = sweeps.command_of(request.job.command, plan.row(1))
        first = replace(request.job, command=tuple(command))
    else:
        texts = {name: str(value) for name, value in plan.row(1).items()}
        first = replace(request.job, variables={**request.job.variables, **texts})
    _, checked, warnings = jobs.check_request(cluster, session, actor, training_id, first)
    names = names_of(checked.name, plan)
    own = [
        {
            "sweep_number": number,
            "name": names[number - 1],
            **own_of(request.job, checked, model is None, row),
        }
        for number, row in enumerate(plan.rows(), start=1)
    ]
    return Checked(plan, checked.name, first, own, warnings + sweeps.unknown_placeholders(request.job, plan))


def own_of(job: JobRequest, first: JobRequest, is_own_code: bool, row: dict[str, Value]) -> dict[str, Any]:
    """Own code reads its values from the command, or by name as a model does."""
    command = sweeps.command_of(job.command, row) if is_own_code else []
    return {"command": command, "variables": {**first.variables, **row}}


def preview_sweep(cluster: Cluster, actor: Actor, training_id: int, request: SweepRequest) -> SweepEstimate:
    """What would be made; nothing is. Raises what `submit_sweep` would raise."""
    with cluster.store.read() as session:
        checked = check(cluster, session, actor, training_id, request)
        usual = read_kind_spans(session, training_id, checked.first.units)
    first = jobs.check_job(cluster, actor, training_id, checked.first)
    names = [own["name"] for own in checked.own]
    return SweepEstimate(
        checked.plan,
        names,
        first,
        checked.own[0]["command"],
        expect(usual, checked.first.time_limit_seconds).seconds,
        usual is None,
        checked.warnings,
    )


def sees_sweep(actor: Actor) -> ColumnElement[bool]:
    """A sweep is seen by whoever sees its training."""
    if actor.is_administrator:
        return true()
    return Sweep.training_id.in_(select(Training.id).where(sees_training(actor)))


def load_sweep(session: Session, actor: Actor, sweep_id: int) -> Sweep:
    """Raises NotFound where the person may not see it."""
    sweep = session.scalar(select(Sweep).where(Sweep.id == sweep_id, sees_sweep(actor)).options(*LOADS))
    if sweep is None:
        raise NotFound("sweep", sweep_id)
    return sweep


def read_sweep(cluster: Cluster, actor: Actor, sweep_id: int) -> Sweep:
    with cluster.store.read() as session:
        return load_sweep(session, actor, sweep_id)


def count_states(session: Session, sweep_id: int) -> dict[JobState, int]:
    """How many of its jobs are in each state; read from an index alone."""
    query = select(Job.state, func.count()).where(Job.sweep_id == sweep_id).group_by(Job.state)
    return {row[0]: row[1] for row in session.execute(query)}


def stop_sweep(cluster: Cluster, actor: Actor, sweep_id: int) -> int:
    """Waiting jobs have ended when this returns, running ones are being stopped; how many it were.

    Whoever made it, the training's owner, the workspace's manager and administrators may. One audit entry.
    Raises Forbidden; Conflict where none of its jobs lives.
    """
    now = cluster.clock()
    with cluster.store.write(lock="placement") as session:
        sweep = load_sweep(session, actor, sweep_id)
        require("sweep.stop", to_sweep(actor, sweep), sweep_id)
        if not any(state in LIVING_JOB_STATES for state in count_states(session, sweep_id)):
            raise Conflict("sweep.has_ended", id=sweep_id)
        number = stop_rest(session, sweep, now, actor)
        write_entry(session, now, actor, "sweep.stop_requested", sweep_id, jobs=number)
    ring(cluster)
    return number


def may_stop(actor: Actor, sweep: Sweep) -> bool:
    return may("sweep.stop", to_sweep(actor, sweep))
