"""A statement that is built once answers each reader by that reader's own rights."""

import dataclasses

from sqlalchemy import Select, select

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from cluster.store.sql.reader_statement import ReaderStatement, id_parameter
from cluster.store.sql.visibility import can_see_job
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of, an_administrator


def test_each_reader_has_the_own_rows(cluster: Cluster) -> None:
    built: list[bool] = []

    def build(reader: Actor) -> object:
        built.append(reader.is_administrator)
        return select(Job.id).where(can_see_job(reader))

    statement = ReaderStatement(build)  # type: ignore[arg-type]
    people = [a_user(cluster), a_user(cluster)]
    jobs = [a_job(cluster, a_training(cluster, a_workspace(cluster, person))).id for person in people]
    readers = [actor_of(person) for person in people]
    administrator = actor_of(an_administrator(cluster))
    stranger = dataclasses.replace(readers[0], user_id=10_000)
    with cluster.store.read() as session:
        seen = [
            sorted(statement.execute(session, reader).scalars())
            for reader in (*readers, administrator, stranger, readers[0])
        ]
    assert seen == [[jobs[0]], [jobs[1]], sorted(jobs), [], [jobs[0]]]
    assert built == [False, True]


def test_each_shape_is_a_statement_and_values_are_its_parameters(cluster: Cluster) -> None:
    built: list[bool] = []

    def build(reader: Actor, is_narrowed: bool) -> Select[int]:
        built.append(is_narrowed)
        query = select(Job.id).where(can_see_job(reader)).order_by(Job.id)
        return query.where(Job.id > id_parameter("after")) if is_narrowed else query

    statement = ReaderStatement(build)
    member = a_user(cluster)
    training = a_training(cluster, a_workspace(cluster, member))
    jobs = [a_job(cluster, training).id for _ in range(3)]
    reader = actor_of(member)
    with cluster.store.read_columns() as connection:
        found = [
            list(statement.execute(connection, reader, shape, after=after).scalars())
            for shape, after in ((False, None), (True, jobs[0]), (True, jobs[1]), (False, None))
        ]
    assert found == [jobs, jobs[1:], jobs[2:], jobs]
    assert built == [False, True]
