"""Objects that runs of a workspace have shared are deleted a day after the last of them, and never while a run wants
them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.worker.kubernetes.manifests.test_workloads import PLAN, RUN
from worker.executors.contract import NotStarted
from worker.executors.kubernetes_run_spec import RuntimeConfigMaps
from worker.executors.kubernetes_shared_objects import (
    EVERY_SECONDS,
    UNUSED_SECONDS,
    SharedObjectCreator,
    UnusedObjectRemover,
)
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject, ObjectExists, ObjectList
from worker.kubernetes.manifests.run_spec import RuntimeFolder
from worker.kubernetes.manifests.workloads import run_objects
from worker.kubernetes.object_kinds import object_head
from worker.kubernetes.snapshot import RunObjects

SPACE = "gc-workspace-3"
CLAIM = "gc-1a2b3c4d-path-0123456789ab"


class Cluster:
    """Has what is made, by kind, namespace and name."""

    def __init__(self) -> None:
        self.things: dict[tuple[str, str, str], KubernetesObject] = {}

    def put(self, thing: KubernetesObject) -> None:
        about = thing["metadata"]
        self.things[thing["kind"], about.get("namespace", ""), about["name"]] = thing

    def create(self, thing: KubernetesObject) -> KubernetesObject:
        about = thing["metadata"]
        if (thing["kind"], about.get("namespace", ""), about["name"]) in self.things:
            raise ObjectExists(409, "AlreadyExists", "")
        self.put(thing)
        return thing

    def get(self, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
        return self.things.get((kind, namespace, name))

    def delete(self, kind: str, name: str, namespace: str = "") -> bool:
        return self.things.pop((kind, namespace, name), None) is not None

    def list_all(self, kind: str, labels: str = "") -> ObjectList:
        wanted = dict(each.split("=") for each in labels.split(","))
        found = [each for (its, _, _), each in self.things.items() if its == kind]
        return ObjectList(
            [each for each in found if wanted.items() <= each["metadata"]["labels"].items()], "1"
        )


@pytest.fixture
def cluster() -> Cluster:
    cluster, ours = Cluster(), {object_names.INSTALLATION: RUN.installation}
    cluster.put(object_head("Namespace", SPACE, labels=ours))
    cluster.put(object_head("Namespace", "gc-workspace-9", labels={object_names.INSTALLATION: "another"}))
    for space in (SPACE, "gc-workspace-9"):
        cluster.put(
            object_head("ConfigMap", "gc-runtime-former", space, {object_names.PART: object_names.RUN_PART})
        )
    cluster.put(object_head("PersistentVolumeClaim", CLAIM, SPACE, ours))
    cluster.put(object_head("PersistentVolume", f"{CLAIM}-3", labels=ours))
    return cluster


def sweep_of(cluster: Cluster, runtime: Path, at: list[float]) -> UnusedObjectRemover:
    api: Any = cluster
    return UnusedObjectRemover(api, SharedObjectCreator(api, RuntimeConfigMaps(runtime)), lambda: at[0])


def left(cluster: Cluster) -> set[tuple[str, str]]:
    return {
        (kind, name)
        for kind, space, name in cluster.things
        if space != "gc-workspace-9" and kind != "Namespace"
    }


def test_what_nobody_asked_for_since_a_day_goes_with_its_volume(cluster: Cluster, tmp_path: Path) -> None:
    at = [0.0]
    sweep = sweep_of(cluster, tmp_path, at)
    before = left(cluster)
    for at[0] in (1.0, EVERY_SECONDS + 1, UNUSED_SECONDS - 1):
        sweep.delete_due(RUN.installation, [])
    assert left(cluster) == before, "who has just started does not know what was asked for"
    at[0] = UNUSED_SECONDS + 1
    sweep.delete_due(RUN.installation, [])
    assert left(cluster) == set()
    assert ("ConfigMap", "gc-workspace-9", "gc-runtime-former") in cluster.things, "another installation's"


def test_what_a_run_names_or_has_asked_for_stays(cluster: Cluster, tmp_path: Path) -> None:
    at = [0.0]
    sweep = sweep_of(cluster, tmp_path, at)
    run = replace(RUN, runtime=(RuntimeFolder(Path(), "former"),))
    owner = run_objects(run)[-1]
    found = RunObjects(1042, 2, 3, owner=owner)
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in owner["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    ]
    for claim in claims:
        cluster.put(
            object_head("PersistentVolumeClaim", claim, SPACE, {object_names.INSTALLATION: RUN.installation})
        )
    at[0] = 2 * UNUSED_SECONDS
    sweep.shared.ensured[f"PersistentVolumeClaim/{SPACE}/{CLAIM}"] = at[0] - 60
    before = left(cluster)
    sweep.delete_due(RUN.installation, [found])
    assert left(cluster) == before and any("-path-" in claim for claim in claims), PLAN.mounts


def test_a_workspaces_own_volume_stays(cluster: Cluster, tmp_path: Path) -> None:
    own = f"gc-{RUN.installation}-workspace"
    cluster.put(
        object_head("PersistentVolumeClaim", own, SPACE, {object_names.INSTALLATION: RUN.installation})
    )
    at = [0.0]
    sweep = sweep_of(cluster, tmp_path, at)
    at[0] = 2 * UNUSED_SECONDS
    sweep.delete_due(RUN.installation, [])
    assert left(cluster) == {("PersistentVolumeClaim", own)}


def test_a_run_that_wants_what_is_just_going_is_tried_again(cluster: Cluster, tmp_path: Path) -> None:
    """It would wait for ever for a claim that is gone a moment later."""
    api: Any = cluster
    shared = SharedObjectCreator(api, RuntimeConfigMaps(tmp_path))
    shared.ensure(RUN)
    shared.ensured.clear()
    going = next(
        each for (kind, _, name), each in cluster.things.items() if kind.endswith("Claim") and name != CLAIM
    )
    going["metadata"]["deletionTimestamp"] = "2026-11-22T06:00:00Z"
    with pytest.raises(NotStarted, match="is just being deleted"):
        shared.ensure(RUN)
    del cluster.things["PersistentVolumeClaim", SPACE, going["metadata"]["name"]]
    shared.ensure(RUN)
