"""Whether the first flight of this installation has landed; make up flies it until it has."""

from cluster.services.context import Cluster
from cluster.store.leases import Fact

FIRST_FLIGHT = "first_flight"


def read_landing(cluster: Cluster) -> int | None:
    """The job with which it landed; None before."""
    with cluster.store.read() as session:
        fact = session.get(Fact, FIRST_FLIGHT)
    return int(fact.value["job"]) if fact else None


def record_landing(cluster: Cluster, job_id: int) -> None:
    with cluster.store.write() as session:
        session.merge(Fact(name=FIRST_FLIGHT, value={"job": job_id}))
