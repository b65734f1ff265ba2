"""Pods of an uneven gang lie on its nodes as the queue has given them: two here and one there, never the other way."""

from dataclasses import replace

import pytest

from tests.unit.executors.few_objects import FewObjects, Thing, a_gang
from tests.unit.executors.test_kubernetes_shapes import RUN, TWO
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor
from worker.kube import names
from worker.kube.places import parse_places
from worker.kube.shapes.objects import objects_of
from worker.kube.shapes.run import Gang, Member

UNEVEN = (Member("gpu01", 2), Member("gpu02", 1))


@pytest.mark.parametrize("gang", [Gang.INDEXED, Gang.MPI])
def test_pods_of_an_uneven_gang_wait_until_they_are_told_their_node(gang: Gang) -> None:
    def maker(members: tuple[Member, ...]) -> tuple[Thing, Thing]:
        made = objects_of(replace(RUN, gang=gang, members=members))[-1]
        spec = made["spec"]
        worker = spec["template"] if gang is Gang.INDEXED else spec["mpiReplicaSpecs"]["Worker"]["template"]
        return made["metadata"]["annotations"], worker["spec"]

    notes, pod = maker(UNEVEN)
    assert notes[names.UNITS] == "gpu01=2,gpu02=1" and pod["schedulingGates"] == [{"name": names.GATE}]
    notes, pod = maker(TWO)
    assert names.UNITS not in notes and "schedulingGates" not in pod


@pytest.mark.parametrize(
    ("text", "places"),
    [("gpu01=2,gpu02=1", ["gpu01", "gpu01", "gpu02"]), ("", []), ("gpu01", []), ("gpu01=x", []), ("=2", [])],
)
def test_places_are_read_as_they_are_written(text: str, places: list[str]) -> None:
    assert parse_places(text) == places


def test_each_waiting_pod_gets_the_node_of_its_number_once(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = a_gang("Pending", "Pending", "Pending", "Pending")
    for pod in pods[1:]:
        pod["spec"] = {"schedulingGates": [{"name": names.GATE}]}
    about = {**pods[0]["metadata"], "name": "gc-7-1", "annotations": {names.UNITS: "gpu01=2,gpu02=1"}}
    server.things = [{"kind": "Job", "metadata": about, "spec": {"completionMode": "Indexed"}}, *pods]
    told: dict[str, Thing] = {}
    monkeypatch.setattr(
        server, "change", lambda kind, name, space, patch: told.update({name: patch}), raising=False
    )
    executor.look(plan.folder)
    assert told == {
        f"gc-7-1-{number}": {
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "schedulingGates": None}
        }
        for number, node in ((1, "gpu01"), (2, "gpu02"))
    }, "number 0 has its node, and for number 3 there is none"
