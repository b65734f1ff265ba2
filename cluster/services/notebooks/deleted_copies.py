"""Lists the working copies of deleted trainings, and records that their files are gone."""

from dataclasses import dataclass

from sqlalchemy import delete, select

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.trainings import Training, WorkingCopy


@dataclass(frozen=True)
class UnwantedCopies:
    """The working copies of all people for one training that is deleted."""

    training_id: int
    workspace_id: int


def list_unwanted_copies(cluster: Cluster, at_most: int) -> list[UnwantedCopies]:
    query = (
        select(Training.id, Training.workspace_id)
        .where(
            Training.deleted_at.is_not(None),
            Training.id.in_(select(WorkingCopy.training_id)),
        )
        .order_by(Training.id)
        .limit(at_most)
    )
    with cluster.store.read() as session:
        return [UnwantedCopies(*row) for row in session.execute(query)]


def record_copies_deleted(cluster: Cluster, held: HeldLease, training_id: int) -> None:
    """Raises LeaseLost."""
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(delete(WorkingCopy).where(WorkingCopy.training_id == training_id))
