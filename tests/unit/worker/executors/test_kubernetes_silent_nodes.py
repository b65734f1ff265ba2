"""A node that Kubernetes does not hear: what ran there may go on, and keeps its units until we have given it up."""

import pytest

from tests.unit.worker.executors.fake_api import FewObjects, Thing, a_gang, a_machine
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor


def a_gang_over_two_nodes(status: str) -> list[Thing]:
    """Number 0 has ended on node-1, for number 1 on Node-2 no longer answers it."""
    pods = a_gang("Failed", "Running")
    for pod, node in zip(pods, ("node-1", "node-2"), strict=True):
        pod["spec"]["nodeName"] = node
    return [*pods, a_machine("node-1", "True"), a_machine("node-2", status)]


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_member_on_a_silent_node_keeps_its_units_until_the_node_is_given_up(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, has_ended: bool
) -> None:
    """Also in the moment in which Kubernetes stops to hear it, long before its grace time is over."""
    server.things = a_gang_over_two_nodes("Unknown")
    assert executor.end_leftovers(plan.folder, has_ended) == 1
    assert executor.end_leftovers(plan.folder, has_ended, given_up=["node-1"]) == 1
    assert executor.end_leftovers(plan.folder, has_ended, given_up=["Node-2"]) == 0
    assert "gc-7-1-1" in server.deleted, "it is told once somebody listens there"


def test_a_node_that_only_our_agent_has_left_ends_its_pods_itself(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    server.things = a_gang_over_two_nodes("True")
    assert executor.end_leftovers(plan.folder, given_up=["node-2"]) == 1
