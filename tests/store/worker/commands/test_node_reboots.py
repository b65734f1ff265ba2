"""Before a host starts anew its node is emptied, and opened again afterwards."""

from datetime import timedelta

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.nodes import drains
from cluster.store.nodes import Allocation, Node
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, an_administrator, holding
from tests.conftest import Clock
from worker.commands.node_reboots import REBOOT_REASON, drain_for_reboot, undrain_after_reboot

HOUR = timedelta(hours=1)


def running_on(cluster: Cluster, node: Node) -> int:
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, units=2)), units=1, state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    return job.id


def reason_of(cluster: Cluster, node: Node) -> str:
    with cluster.store.read() as session:
        return session.get_one(Node, node.id).drain_reason


def test_a_start_waits_until_the_last_job_has_ended(cluster: Cluster, clock: Clock) -> None:
    node = a_node(cluster, 2, name="gpu03")
    running_on(cluster, node)
    looks: list[str] = []

    def sleep(seconds: float) -> None:
        looks.append(reason_of(cluster, node))
        if len(looks) == 3:
            with cluster.store.write() as session:
                session.query(Allocation).update({Allocation.ended_at: clock.now})

    assert drain_for_reboot(cluster, "gpu03", HOUR, sleep) is True
    assert looks == [REBOOT_REASON] * 3
    assert undrain_after_reboot(cluster, "gpu03") is True
    assert reason_of(cluster, node) == ""
    assert undrain_after_reboot(cluster, "gpu03") is False


def test_who_waits_too_long_hears_which_jobs_still_run(cluster: Cluster, clock: Clock) -> None:
    node = a_node(cluster, 2, name="gpu03")
    job = running_on(cluster, node)

    def sleep(seconds: float) -> None:
        clock.now += HOUR

    with pytest.raises(Conflict) as refused:
        drain_for_reboot(cluster, "gpu03", HOUR, sleep)
    assert refused.value.code == "node.jobs_still_run"
    assert refused.value.data == {"node": "gpu03", "jobs": str(job)}
    assert reason_of(cluster, node) == REBOOT_REASON


def test_what_a_person_has_closed_stays_closed(cluster: Cluster) -> None:
    node = a_node(cluster, name="gpu03")
    drains.drain_node(cluster, actor_of(an_administrator(cluster)), node.id, "new memory")
    assert drain_for_reboot(cluster, "gpu03", HOUR) is False
    assert undrain_after_reboot(cluster, "gpu03") is False
    assert reason_of(cluster, node) == "new memory"


def test_a_host_that_never_joined_has_nothing_to_wait_for(cluster: Cluster) -> None:
    assert drain_for_reboot(cluster, "gpu99", HOUR) is False
    assert undrain_after_reboot(cluster, "gpu99") is False
