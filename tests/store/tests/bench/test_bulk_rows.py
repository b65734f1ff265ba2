"""What benchmarks write and clear in bulk, on the schema as it is now."""

from sqlalchemy import Table, func, select

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.tables import metadata
from cluster.store.trainings import Training
from tests.bench.bulk_rows import a_line_of_workspaces, clear, count_living, fill, tables_of_jobs
from tests.builders import a_job, an_administrator


def test_a_filled_queue_waits_and_is_cleared_with_all_that_refers_to_it(cluster: Cluster) -> None:
    trainings = a_line_of_workspaces(cluster, an_administrator(cluster), 3)
    fill(cluster, trainings, 7)
    assert count_living(cluster) == count(cluster, metadata.tables["job_events"]) == 7
    with cluster.store.read() as session:
        training = session.get_one(Training, trainings[0])
    a_job(cluster, training, state=JobState.FINISHED)
    clear(cluster)
    assert {table.name: rows for table in tables_of_jobs() if (rows := count(cluster, table))} == {}
    assert count(cluster, metadata.tables["trainings"]) == 3, "what jobs belong to stays"


def count(cluster: Cluster, table: Table) -> int:
    with cluster.store.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0
