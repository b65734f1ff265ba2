"""Totals of the queue, however much waits."""

from sqlalchemy import insert, update

from cluster.domain.states import DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.queue.totals import read_queue_totals, refresh_queue_totals
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from tests.builders import (
    a_training,
    a_workspace,
    first_positions,
)


def many(cluster: Cluster, training: Training, count: int, **columns: object) -> None:
    """Waiting jobs in one statement."""
    row = {
        "workspace_id": training.workspace_id, "training_id": training.id, "user_id": training.owner_id,
        "name": "many", "state": JobState.WAITING, "desired": DesiredState.RUN, "units": 1, "priority": 0,
        "launcher": Launcher.PLAIN, "command": [], "variables": {}, "submitted_at": cluster.clock(),
    }  # fmt: skip
    with cluster.store.write() as session:
        session.execute(insert(Job), [row | columns for _ in range(count)])
        session.execute(update(Job).where(Job.position == 0).values(position=first_positions()))


def test_totals_tell_how_much_waits(cluster: Cluster, held: HeldLease) -> None:
    training = a_training(cluster, a_workspace(cluster))
    many(cluster, training, 3, time_limit_seconds=60)
    many(cluster, training, 2, units=2)
    assert refresh_queue_totals(cluster, held)
    assert not refresh_queue_totals(cluster, held)
    with cluster.store.read() as session:
        totals = {
            (one.units, one.count, one.seconds)
            for one in read_queue_totals(session, [training.workspace_id])[training.workspace_id]
        }
    assert totals == {(1, 3, 60.0), (2, 2, None)}
