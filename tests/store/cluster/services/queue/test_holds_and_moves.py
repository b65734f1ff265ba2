"""A manager holds and moves waiting jobs, and there is room between any two of them."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, Refused
from cluster.services.context import Cluster
from cluster.services.jobs import queries as job_queries
from cluster.services.leases import HeldLease
from cluster.services.queue import holds_and_moves, queries
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.audit import AuditEntry
from tests.builders import (
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
)
from tests.store.conftest import line


def test_a_manager_moves_jobs_within_the_line(cluster: Cluster, held: HeldLease) -> None:
    workspace = a_workspace(cluster, units=1)
    manager = actor_of(workspace.manager)
    training = a_training(cluster, workspace)
    a, b, c = (a_job(cluster, training).id for _ in range(3))
    urgent = a_job(cluster, training, priority=9).id
    place = workspace.id
    holds_and_moves.move_job(cluster, manager, c, "up")
    assert line(cluster, place) == [urgent, a, c, b]
    holds_and_moves.move_job(cluster, manager, urgent, "down")
    assert line(cluster, place) == [a, urgent, c, b]
    holds_and_moves.move_job(cluster, manager, b, "front")
    assert line(cluster, place) == [b, a, urgent, c]
    holds_and_moves.move_job(cluster, manager, b, "before", c)
    assert line(cluster, place) == [a, urgent, b, c]
    holds_and_moves.move_job(cluster, manager, a, "down")
    holds_and_moves.move_job(cluster, manager, b, "down")
    assert line(cluster, place) == [urgent, a, c, b]
    new = a_job(cluster, training).id
    assert line(cluster, place) == [urgent, a, c, b, new]
    holds_and_moves.move_job(cluster, manager, urgent, "up")
    with pytest.raises(Refused):
        holds_and_moves.move_job(cluster, manager, a, "before", 987)
    with pytest.raises(Refused):
        holds_and_moves.move_job(cluster, manager, a, "sideways")
    with cluster.store.read() as session:
        entries = session.scalars(select(AuditEntry.action).where(AuditEntry.object_id == urgent)).all()
    assert entries == ["job.moved"]


def test_there_is_always_room_between_two_jobs(cluster: Cluster, held: HeldLease) -> None:
    workspace = a_workspace(cluster, units=1)
    manager, training = actor_of(workspace.manager), a_training(cluster, workspace)
    ids = [a_job(cluster, training).id for _ in range(4)]
    for turn in range(60):
        first, second = (ids[2], ids[3]) if turn % 2 else (ids[3], ids[2])
        holds_and_moves.move_job(cluster, manager, first, "before", ids[1])
        holds_and_moves.move_job(cluster, manager, second, "before", ids[1])
        assert line(cluster, workspace.id) == [ids[0], first, second, ids[1]]


def test_a_manager_holds_a_job_and_lets_it_go(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 1)
    member = a_user(cluster)
    workspace = a_workspace(cluster, members=(member,), units=1)
    manager = actor_of(workspace.manager)
    job = a_job(cluster, a_training(cluster, workspace, member), member)
    for _ in range(2):
        holds_and_moves.hold_job(cluster, manager, job.id)
    assert place_waiting_jobs(cluster, held) == []
    standing = queries.read_waiting_explanation(cluster, job_queries.read_job(cluster, manager, job.id))
    assert standing.code == "waiting.on_hold"
    assert standing.data["by"] == manager.name and "since" in standing.data
    with pytest.raises(Forbidden):
        holds_and_moves.release_job(cluster, actor_of(member), job.id)
    holds_and_moves.release_job(cluster, manager, job.id)
    assert len(place_waiting_jobs(cluster, held)) == 1
    with pytest.raises(Conflict):
        holds_and_moves.hold_job(cluster, manager, job.id)
    codes = [event.code for event in job_queries.read_job(cluster, manager, job.id).events]
    assert codes == ["job.held", "job.released", "job.placed"]
