"""One statement counts the alerts of each role, and it names the time to the second."""

from datetime import timedelta

from sqlalchemy import func, literal, select

from cluster.domain.people.actor import Actor
from cluster.services.alerts.alert_counts import MAX_COUNTED, AlertCounts, AlertSource, capped_count
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of, an_administrator
from tests.conftest import Clock


def test_a_statement_is_built_once_a_second_for_each_role(cluster: Cluster, clock: Clock) -> None:
    built: list[tuple[bool, float]] = []
    began = clock()

    def list_sources(cluster: Cluster, reader: Actor) -> list[AlertSource]:
        built.append((reader.is_administrator, (cluster.clock() - began).total_seconds()))
        own = select(Job.id).where(Job.user_id == reader.user_id)
        seconds = literal(int(built[-1][1]))
        return [AlertSource(lambda: capped_count(own), list), AlertSource(lambda: seconds, list)]

    counts = AlertCounts(list_sources)
    people = a_user(cluster), a_user(cluster), an_administrator(cluster)
    a_job(cluster, a_training(cluster, a_workspace(cluster, people[0])), people[0])

    def read() -> list[tuple[int, int]]:
        with cluster.store.read_columns() as connection:
            return [tuple(counts.execute(connection, cluster, actor_of(person)).one()) for person in people]

    assert read() == read() == [(1, 0), (0, 0), (0, 0)]
    clock.now += timedelta(milliseconds=900)
    assert read() == [(1, 0), (0, 0), (0, 0)]
    clock.now += timedelta(milliseconds=200)
    assert read() == [(1, 1), (0, 1), (0, 1)]
    assert built == [(False, 0.0), (True, 0.0), (False, 1.1), (True, 1.1)]


def test_no_more_than_a_thousand_and_one_are_counted(cluster: Cluster) -> None:
    numbers = select(literal(1).label("number")).cte(recursive=True)
    numbers = numbers.union_all(select(numbers.c.number + 1).where(numbers.c.number < 2 * MAX_COUNTED))
    with cluster.store.read_columns() as connection:
        assert connection.scalar(select(func.count()).select_from(numbers)) == 2 * MAX_COUNTED
        assert connection.scalar(select(capped_count(select(numbers.c.number)))) == MAX_COUNTED + 1
