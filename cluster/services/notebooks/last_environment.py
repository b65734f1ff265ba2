"""The environment in which a person's last notebook of a training ran."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState, JobKind
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import choose_environment
from cluster.services.images.environments import load_default_environment
from cluster.store.environments import Environment
from cluster.store.jobs import Attempt, Job
from cluster.store.trainings import Training


def read_last_environment(cluster: Cluster, actor: Actor, training: Training) -> Environment:
    """Returns the environment that the training names if there was no notebook yet. Raises Refused on `packages` if it
    is gone.
    """
    last = (
        select(Environment)
        .join(Attempt, Attempt.environment_id == Environment.id)
        .join(Job, Job.id == Attempt.job_id)
        .where(Job.user_id == actor.user_id, Job.training_id == training.id, Job.kind == JobKind.NOTEBOOK)
        .order_by(Job.id.desc(), Attempt.number.desc())
        .limit(1)
    )
    with cluster.store.read() as session:
        found = session.scalar(last) or named_environment(cluster, session, training)
    if found is None or found.state is not EnvironmentState.READY or found.deleted_at is not None:
        raise Refused("packages", "notebook.base_gone", name=found.name if found else "default")
    return found


def named_environment(cluster: Cluster, session: Session, training: Training) -> Environment | None:
    return choose_environment(cluster, session, training, None) or load_default_environment(session)


def python_of(environment: Environment) -> str:
    """Returns the version as 3.11."""
    versions = {str(line[0]): str(line[1]) for line in environment.contents}
    return ".".join((versions.get("python") or environment.python).split(".")[:2])
