"""The names of pods go with the last of them, whoever has deleted them, and are never another's."""

import json
from pathlib import Path
from typing import cast

import pytest

from tests.unit.worker.kubernetes.fake_api import WORKSPACE, FewObjects, Thing, a_gang
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor
from worker.executors.kubernetes_removal import STOP_FILE, remove_run, write_stop_request
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesApi
from worker.kubernetes.snapshot import RunObjects


def service(installation: str) -> Thing:
    labels = object_names.attempt_labels(installation, WORKSPACE, 7, 1)
    about = {
        "name": "gc-7-1",
        "namespace": object_names.workspace_namespace(WORKSPACE),
        "uid": "s",
        "labels": labels,
    }
    return {"kind": "Service", "metadata": about}


@pytest.mark.parametrize(("installation", "goes"), [("here", ["gc-7-1"]), ("other", [])])
def test_the_service_of_a_pod_that_was_deleted_by_hand_is_found_by_its_name(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, installation: str, goes: list[str]
) -> None:
    server.things = [service(installation)]
    assert executor.end_leftovers(plan.folder) == 0
    assert server.deleted == goes


def test_it_goes_before_the_pod_that_leaves_is_forgotten(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """A moment later Kubernetes has forgotten the pod, and nobody looks for the rest of it."""
    (pod,) = a_gang("Succeeded")
    server.things = [pod, service("here")]
    assert executor.end_leftovers(plan.folder) == 0
    assert server.deleted == ["gc-7-1"]


def test_while_a_pod_lives_it_is_deleted_with_its_service(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    server.things = [*a_gang("Running"), service("here")]
    assert executor.end_leftovers(plan.folder) == 1
    assert server.deleted == ["gc-7-1", "gc-7-1-0"]


def test_a_run_is_asked_to_stop_by_a_file_beside_its_plan(tmp_path: Path) -> None:
    (tmp_path / "control").mkdir()
    write_stop_request(tmp_path, "patiently")
    assert json.loads((tmp_path / "control" / STOP_FILE).read_text()) == {"how": "patiently"}
    write_stop_request(tmp_path / "missing", "now")
    assert not (tmp_path / "missing").exists()


def test_owners_go_before_their_pods(server: FewObjects) -> None:
    """Else the owner would make them again."""
    owner = {"kind": "Job", "metadata": {"name": "gc-7-1"}, "spec": {"completionMode": "Indexed"}}
    run = RunObjects(7, 1, WORKSPACE, owner, a_gang("Running", "Running"))
    remove_run(cast(KubernetesApi, server), run)
    assert server.deleted == ["gc-7-1", "gc-7-1", "gc-7-1-0", "gc-7-1-1"], "Job, Service, pods"
