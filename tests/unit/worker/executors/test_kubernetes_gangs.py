"""What of a gang outlives the pod with the shim: its units stay booked, and its end stays what it was.

What ran on a node that Kubernetes does not hear may go on, and keeps its units until we have given the node up.
"""

import json

import pytest

from tests.unit.worker.kubernetes.fake_api import FewObjects, Thing, a_gang, a_machine, pod
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor


def test_members_that_outlive_the_one_with_the_shim_keep_their_units_and_have_a_moment(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.things = a_gang("Succeeded", "Running")
    assert executor.end_leftovers(plan.folder, has_ended=True) == 1 and not server.deleted
    monkeypatch.setattr("worker.executors.kubernetes.MEMBERS_SECONDS", 0.0)
    assert executor.end_leftovers(plan.folder, has_ended=True) == 1
    assert "gc-7-1-1" in server.deleted, "it had its moment"
    server.things = a_gang("Succeeded", "Succeeded")
    assert executor.end_leftovers(plan.folder, has_ended=True) == 0


def test_members_of_one_that_failed_have_no_moment(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    server.things = a_gang("Failed", "Running")
    assert executor.end_leftovers(plan.folder, has_ended=True) == 1
    assert "gc-7-1-1" in server.deleted


def test_an_end_stays_what_it_was_when_we_delete_the_rest(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """Else a job that failed would count as taken away, and be tried again for ever."""
    said = {"job": 7, "attempt": 1, "fence": 1, "exit_code": 3, "signal": None, "ranks": []}
    said |= dict.fromkeys(("stopped", "timed_out", "out_of_memory"), False)
    said |= dict.fromkeys(("first_failed_rank", "started_at", "ended_at", "error"))
    (plan.folder / "control").mkdir(parents=True)
    (plan.folder / "control" / "exit.json").write_text(json.dumps(said))
    server.things = a_gang("Failed", "Running")
    first = executor.read_exit_record(plan.folder)
    assert first is not None and (first.exit_code, first.disruption) == (3, None)
    leaving = {"deletionTimestamp": "2026-11-21T10:01:00Z", "deletionGracePeriodSeconds": 1}
    server.things[1]["metadata"] |= leaving
    assert executor.read_exit_record(plan.folder) == first
    del server.things[0]
    assert executor.read_exit_record(plan.folder) == first


def test_a_pod_that_its_kubelet_has_taken_and_not_told_of_yet_keeps_its_units(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """A kubelet tells a second later than the program begins."""
    server.things = a_gang("Failed", "Pending")
    assert executor.end_leftovers(plan.folder) == 0, "no node has it"
    server.things[1]["spec"]["nodeName"] = "node-2"
    assert executor.end_leftovers(plan.folder) == 1


def test_what_has_begun_is_listed_before_its_kubelet_tells_of_it(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    server.things = [pod(7, "Pending")]
    server.things[0]["spec"]["nodeName"] = "node-1"
    assert executor.list_running() == []
    (plan.folder / "control").mkdir(parents=True)
    (plan.folder / "control" / "started").write_text(json.dumps({"node": "node-1"}))
    assert [(run.job, run.folder) for run in executor.list_running()] == [(7, plan.folder)]
    server.things.append(a_machine("node-1", "Unknown"))
    assert executor.list_running() == [], "of a silent node nobody knows"


def a_gang_over_two_nodes(status: str) -> list[Thing]:
    """Number 0 has ended on node-1, for number 1 on Node-2 no longer answers it."""
    pods = a_gang("Failed", "Running")
    for member, node in zip(pods, ("node-1", "node-2"), strict=True):
        member["spec"]["nodeName"] = node
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
