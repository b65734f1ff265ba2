"""Kubernetes alone takes pods away, loses nodes, falls silent, and remembers volumes."""

from collections.abc import Callable

import pytest

from cluster.domain.jobs.attempts import AttemptFacts, ObservedState, RecordInterruption, decide
from cluster.domain.states import AttemptState, DesiredState
from tests.integration.worker.executors.executor_stages import end_of, until
from tests.integration.worker.executors.program_actions import Act
from tests.kube_api.stage import KubernetesStage
from worker.executors.contract import NotStarted, StartPlan
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesApi, KubernetesObject

LONG = Act(says="ready\n", seconds=600, last_words="saved\n")


def begun(stage: KubernetesStage, plan: StartPlan) -> StartPlan:
    stage.executor.start(plan)
    log = plan.out / "rank-0.stdout"
    until(stage, lambda: log.exists() and b"ready" in log.read_bytes(), what="the program's first words")
    return plan


def pod_of(stage: KubernetesStage, plan: StartPlan) -> KubernetesObject:
    wanted = object_names.label_selector(job=str(plan.job))
    (pod,) = stage.server.api.list_all(
        "Pod", wanted, object_names.workspace_namespace(stage.workspace)
    ).things
    return pod


def decision(stage: KubernetesStage, plan: StartPlan) -> object:
    """What the scheduler does about it."""
    seen = stage.executor.read_status(plan.folder).observed
    truth = stage.executor.read_exit_record(plan.folder) if seen is ObservedState.ENDED else None
    state = AttemptState.RUNNING
    return decide(AttemptFacts(plan.job, 1, 1, state, DesiredState.RUN, seen, truth))


def until_gone(stage: KubernetesStage, plan: StartPlan) -> None:
    until(
        stage,
        lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ENDED,
        what="that it is gone",
    )


def test_what_was_made_and_never_recorded_is_found_and_not_made_twice(stage: KubernetesStage) -> None:
    """The scheduler died in between: its successor adopts the same pod."""
    plan = stage.plan(LONG)
    assert stage.executor.start(plan) is None
    successor = stage.open_again()
    assert successor.read_status(plan.folder).observed in (ObservedState.PENDING, ObservedState.ALIVE)
    uid = pod_of(stage, begun(stage, plan))["metadata"]["uid"]
    handle = successor.start(plan)
    assert handle == successor.read_status(plan.folder).handle
    assert pod_of(stage, plan)["metadata"]["uid"] == uid


def delete(api: KubernetesApi, pod: KubernetesObject) -> None:
    api.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])


def evict(api: KubernetesApi, pod: KubernetesObject) -> None:
    """As `kubectl drain` does."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    api._ask("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", {}, body)


@pytest.mark.parametrize(
    ("take", "codes"),
    [
        (delete, {"interrupted.pod_deleted"}),
        # Who looks once the pod has gone altogether learns no more than that.
        (evict, {"kubernetes.taken_off", "interrupted.pod_deleted"}),
    ],
    ids=["deleted", "evicted"],
)
def test_a_pod_that_is_taken_away_saves_its_checkpoint_and_is_tried_again(
    stage: KubernetesStage, take: Callable[[KubernetesApi, KubernetesObject], None], codes: set[str]
) -> None:
    plan = begun(stage, stage.plan(LONG, grace_seconds=60))
    take(stage.server.api, pod_of(stage, plan))
    until_gone(stage, plan)
    assert (plan.folder / "control" / "exit.json").exists(), "it was taken for gone while it said goodbye"
    told = decision(stage, plan)
    assert isinstance(told, RecordInterruption) and told.code in codes
    assert (plan.out / "rank-0.stdout").read_bytes() == b"ready\nsaved\n"


def test_an_eviction_is_told_with_its_reason(stage: KubernetesStage) -> None:
    plan = begun(stage, stage.plan(LONG))
    about = pod_of(stage, plan)["metadata"]
    message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
    evicted = {"phase": "Failed", "reason": "Evicted", "message": message, "containerStatuses": []}
    stage.kubelet.kill(stage.kubelet.container_of(about["name"]))
    stage.server.api.patch("Pod", about["name"], about["namespace"], {"status": evicted}, "status")
    until_gone(stage, plan)
    told = decision(stage, plan)
    assert isinstance(told, RecordInterruption) and told.code == "kubernetes.evicted"
    assert told.data["resource"] == "memory" and told.data["node"] == "node-1"


def test_of_a_silent_node_nothing_is_concluded(stage: KubernetesStage) -> None:
    plan = begun(stage, stage.plan(LONG))
    stage.kubelet.say_ready("node-1", "Unknown")
    try:
        until(
            stage,
            lambda: stage.executor.read_status(plan.folder).observed is ObservedState.UNKNOWN,
            what="that it is unknown",
        )
        assert stage.executor.list_running() == []
        stage.executor.remove_ended_except([(plan.job, 1)])
    finally:
        stage.kubelet.say_ready("node-1")
    until(
        stage,
        lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ALIVE,
        what="that it is found again",
    )


def test_a_server_that_is_away_ends_nothing(stage: KubernetesStage) -> None:
    plan = begun(stage, stage.plan(LONG))
    stage.server.stop()
    try:
        until(
            stage,
            lambda: stage.executor.read_status(plan.folder).observed is ObservedState.UNKNOWN,
            what="silence",
        )
        with pytest.raises(NotStarted):
            stage.executor.start(stage.plan(LONG))
        handle = stage.executor.read_status(plan.folder).handle
        assert handle is not None
        stage.executor.stop(handle)
        exit_file = plan.folder / "control" / "exit.json"
        until(stage, exit_file.exists, what="that a stop needs no API server")
    finally:
        stage.server.start()
    until_gone(stage, plan)
    assert end_of(stage, plan).stopped


def test_what_is_taken_back_before_it_began_leaves_nothing(stage: KubernetesStage) -> None:
    plan = stage.plan(LONG)
    stage.kubelet.starts = False
    try:
        stage.executor.start(plan)
        until(
            stage,
            lambda: stage.executor.read_status(plan.folder).observed is ObservedState.PENDING,
            what="that it waits",
        )
        assert stage.executor.prevent_start(plan.folder)
        until(
            stage,
            lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ABSENT,
            what="that it is gone",
        )
    finally:
        stage.kubelet.starts = True
    with pytest.raises(NotStarted):
        stage.executor.start(plan)


@pytest.mark.long
def test_a_pod_that_ended_before_its_shim_began_says_why_and_is_made_anew(stage: KubernetesStage) -> None:
    plan = stage.plan(Act(says="hello\n"))
    stage.kubelet.instead["run"] = ["/bin/false"]
    try:
        stage.executor.start(plan)
        until(
            stage,
            lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ABSENT,
            what="that it failed",
        )
        with pytest.raises(NotStarted) as failed:
            stage.executor.start(plan)
        assert "before the shim began" in failed.value.data["reason"]
    finally:
        del stage.kubelet.instead["run"]

    def has_been_made() -> bool:
        try:
            stage.executor.start(plan)
        except NotStarted:
            return False
        return (plan.out / "rank-0.stdout").exists()

    until(stage, has_been_made, what="the next try")
    assert end_of(stage, plan).exit_code == 0


def test_the_gpus_that_a_pod_got_are_told(stage: KubernetesStage) -> None:
    stage.kubelet.gpus["node-1"] = "GPU-2,GPU-1"
    try:
        plan = begun(stage, stage.plan(LONG, gpus=("GPU-7", "GPU-8"), units_by_node=(("node-1", 2),)))
    finally:
        stage.kubelet.gpus.clear()
    handle = stage.executor.read_status(plan.folder).handle
    assert handle is not None
    assert (handle["gpus"], handle["node"]) == (["GPU-1", "GPU-2"], "node-1")
    limits = pod_of(stage, plan)["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == "2"


@pytest.mark.long
def test_a_volume_whose_claim_was_deleted_takes_the_next_one(stage: KubernetesStage) -> None:
    """Kubernetes itself would never give it to another claim, also of the same name."""
    api, plan = stage.server.api, stage.plan(Act(says="hello\n"))
    volume = f"gc-{stage.executor.installation}-workspace-{stage.workspace}"
    stage.executor.start(plan)
    end_of(stage, plan)
    released = {"spec": {"claimRef": {"uid": "of-the-former"}}}
    api.patch("PersistentVolume", volume, "", released)
    api.patch("PersistentVolume", volume, "", {"status": {"phase": "Released"}}, "status")
    stage.open_again().start(stage.plan(Act(says="hello\n")))
    found = api.get("PersistentVolume", volume)
    assert found is not None and "uid" not in found["spec"]["claimRef"]
