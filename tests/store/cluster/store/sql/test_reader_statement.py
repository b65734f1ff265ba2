"""A statement that is built once answers each reader by that reader's own rights."""

import dataclasses

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.store.jobs import Job
from cluster.store.sql.reader_statement import ReaderStatement
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
