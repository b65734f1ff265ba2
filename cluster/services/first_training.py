"""Records the job of the first training that succeeded; `make up` runs one until then."""

from cluster.services.context import Cluster
from cluster.store.facts import InstallationFact

FIRST_TRAINING_FACT = "first_training"


def read_first_training(cluster: Cluster) -> int | None:
    """Returns the job of the first training that succeeded; None before."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, FIRST_TRAINING_FACT)
    return int(fact.value["job"]) if fact else None


def record_first_training(cluster: Cluster, job_id: int) -> None:
    with cluster.store.write() as session:
        session.merge(InstallationFact(name=FIRST_TRAINING_FACT, value={"job": job_id}))
