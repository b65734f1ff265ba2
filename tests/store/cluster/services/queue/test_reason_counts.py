"""Waiting jobs are counted by their reasons."""

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.queue import queries as queue
from cluster.services.queue.queries import QueueFilters
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_workspace,
    actor_of,
    an_administrator,
    holding,
)
from tests.queue_reports import report_queue


def test_reasons_are_counted_and_chosen(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 1)
    workspace = a_workspace(cluster, units=1)
    training = a_training(cluster, workspace)
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), a_node(cluster, 1).units)
    front = a_job(cluster, training)
    behind = [a_job(cluster, training) for _ in range(2)]
    on_hold = a_job(cluster, training, held_at=cluster.clock(), held_by=workspace.manager_id)
    preparing = a_dataset(cluster, workspace, state="preparing")
    data = a_job(cluster, training, dataset_id=preparing.id)
    person = actor_of(an_administrator(cluster))
    report_queue(cluster)
    expected = {
        "waiting.quota_used": [front.id],
        "waiting.ahead_in_queue": [job.id for job in behind],
        "waiting.on_hold": [on_hold.id],
        "waiting.dataset_not_ready": [data.id],
    }
    counts = {one.code: one.count for one in queue.read_queue_summary(cluster).counts}
    assert counts == {code: len(ids) for code, ids in expected.items()}
    for code, ids in expected.items():
        view = queue.read_queue(cluster, person, QueueFilters(reason=code))
        assert [row.id for row in view.waiting] == ids
        assert {row.explanation.code for row in view.waiting} == {code}
    assert queue.read_queue(cluster, person, QueueFilters(reason="no.such")).waiting == []
