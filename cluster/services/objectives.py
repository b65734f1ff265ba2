"""Reads the objectives that trainings name for their jobs."""

from sqlalchemy import select

from cluster.domain.jobs.headline_metric import Objective
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.trainings import Training


def read_objectives(cluster: Cluster) -> dict[int, Objective]:
    """Returns live attempt → objective, for trainings that name one."""
    query = (
        select(Attempt.id, Training.objective_metric, Training.objective_is_lower_better)
        .join(Job, Job.id == Attempt.job_id)
        .join(Training, Training.id == Job.training_id)
        .where(Attempt.ended_at.is_(None), Training.objective_metric.is_not(None))
    )
    with cluster.store.read() as session:
        return {
            attempt_id: Objective(metric or "", bool(is_lower_better))
            for attempt_id, metric, is_lower_better in session.execute(query)
        }
