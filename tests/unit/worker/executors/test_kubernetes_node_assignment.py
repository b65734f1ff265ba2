"""Pods of an uneven gang lie on its nodes as the queue has given them: two here and one there, never the other way."""

from dataclasses import replace

import pytest

from tests.unit.worker.kubernetes.fake_api import FewObjects, Thing, a_gang
from tests.unit.worker.kubernetes.manifests.test_workloads import RUN, TWO
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor
from worker.kubernetes import object_names
from worker.kubernetes.manifests.run_spec import GangKind, GangNode
from worker.kubernetes.manifests.workloads import run_objects

UNEVEN = (GangNode("gpu01", 2), GangNode("gpu02", 1))


@pytest.mark.parametrize("gang", [GangKind.INDEXED, GangKind.MPI])
def test_pods_of_an_uneven_gang_wait_until_they_are_told_their_node(gang: GangKind) -> None:
    def maker(members: tuple[GangNode, ...]) -> tuple[Thing, Thing]:
        made = run_objects(replace(RUN, gang=gang, members=members))[-1]
        spec = made["spec"]
        worker = (
            spec["template"] if gang is GangKind.INDEXED else spec["mpiReplicaSpecs"]["Worker"]["template"]
        )
        return made["metadata"]["annotations"], worker["spec"]

    notes, pod = maker(UNEVEN)
    assert notes[object_names.UNITS] == "gpu01=2,gpu02=1" and pod["schedulingGates"] == [
        {"name": object_names.SCHEDULING_GATE}
    ]
    notes, pod = maker(TWO)
    assert object_names.UNITS not in notes and "schedulingGates" not in pod


def test_each_waiting_pod_gets_the_node_of_its_number_once(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = a_gang("Pending", "Pending", "Pending", "Pending")
    for pod in pods[1:]:
        pod["spec"] = {"schedulingGates": [{"name": object_names.SCHEDULING_GATE}]}
    about = {**pods[0]["metadata"], "name": "gc-7-1", "annotations": {object_names.UNITS: "gpu01=2,gpu02=1"}}
    server.things = [{"kind": "Job", "metadata": about, "spec": {"completionMode": "Indexed"}}, *pods]
    told: dict[str, Thing] = {}
    monkeypatch.setattr(
        server, "patch", lambda kind, name, space, patch: told.update({name: patch}), raising=False
    )
    executor.read_status(plan.folder)
    assert told == {
        f"gc-7-1-{number}": {
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "schedulingGates": None}
        }
        for number, node in ((1, "gpu01"), (2, "gpu02"))
    }, "number 0 has its node, and for number 3 there is none"
