"""The names of pods go with the last of them, whoever has deleted them, and are never another's."""

import pytest

from tests.unit.worker.executors.fake_api import WORKSPACE, FewObjects, Thing, a_gang
from worker.executors.contract import StartPlan
from worker.executors.kubernetes import KubernetesExecutor
from worker.kubernetes import object_names


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
