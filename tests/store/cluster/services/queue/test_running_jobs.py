"""Running jobs in the order of their expected ends, page by page."""

from datetime import timedelta

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.placement.capacity import read_running_on_nodes
from cluster.services.queue.running_jobs import NO_KNOWN_END, read_running_jobs, running_cursor
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, an_administrator, holding


def test_the_soonest_known_ends_come_first_and_pages_join_without_a_gap(cluster: Cluster) -> None:
    training = a_training(cluster, a_workspace(cluster, units=4))
    running = {}
    for limit in (None, 7200, 600):
        job = a_job(cluster, training, state=JobState.RUNNING, time_limit_seconds=limit)
        holding(cluster, job, a_node(cluster, units=1, name=f"node-{limit}").units)
        running[limit] = job.id
    person = actor_of(an_administrator(cluster))
    with cluster.store.read() as session:
        running_now = read_running_on_nodes(session, cluster.clock())
        first, cursor = read_running_jobs(session, person, running_now, 2)
        rest, end = read_running_jobs(session, person, running_now, 2, after=cursor)
    assert [run.id for run in (*first, *rest)] == [running[600], running[7200], running[None]]
    assert end is None
    assert first[0].ends_at == cluster.clock() + timedelta(seconds=600) and rest[0].ends_at is None
    assert first[0].nodes == ("node-600",) and first[0].started_at == cluster.clock()


def test_who_may_not_see_a_job_sees_its_units_alone(cluster: Cluster) -> None:
    training = a_training(cluster, a_workspace(cluster, units=2))
    job = a_job(cluster, training, units=2, state=JobState.RUNNING)
    holding(cluster, job, a_node(cluster, units=2).units)
    stranger = actor_of(a_user(cluster))
    with cluster.store.read() as session:
        running_now = read_running_on_nodes(session, cluster.clock())
        (run,), _ = read_running_jobs(session, stranger, running_now, 9)
        elsewhere, _ = read_running_jobs(
            session, stranger, running_now, 9, workspace_id=training.workspace_id + 1
        )
    assert (run.job, run.units) == (None, 2)
    assert elsewhere == []


def test_ends_that_nobody_knows_come_last(cluster: Cluster) -> None:
    far = cluster.clock() + timedelta(days=36500)
    assert running_cursor(far, 9) < running_cursor(None, 1) == (NO_KNOWN_END, 1)
