"""Objects of the cluster are sorted by attempt, and each pod says what became of it."""

from typing import Any, cast

import pytest

from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesApi, ObjectList
from worker.kubernetes.snapshot import (
    RunObjects,
    attempt_key_of_object,
    container_exit,
    deletion_requested_at,
    group_by_attempt,
    has_failed_by_itself,
    has_rdma_cards,
    has_replaced_worker,
    is_bound,
    is_deleting_now,
    is_mpi_worker,
    is_pod_over,
    is_pod_running,
    is_shim_pod,
    pod_node,
    read_snapshot,
    was_removed_by_operator,
)

Thing = dict[str, Any]
BORN = "2026-11-21T10:00:00Z"
ENDED = "2026-11-21T10:00:30Z"


def thing(kind: str = "Pod", job: int = 7, namespace: str = "gc-workspace-3", **labels: str) -> Thing:
    metadata = {"name": f"gc-{job}-1", "namespace": namespace, "creationTimestamp": BORN}
    labels = object_names.attempt_labels("here", 3, job, 1) | labels
    return {"kind": kind, "metadata": metadata | {"labels": labels}, "spec": {}, "status": {}}


def worker(**about: Any) -> Thing:
    pod = thing(**{object_names.ROLE: "worker"})
    return pod | {"metadata": pod["metadata"] | about}


def ended(pod: Thing, **how: Any) -> Thing:
    state = {"terminated": {"finishedAt": ENDED} | how}
    return pod | {"status": {"phase": "Failed", "containerStatuses": [{"state": {}}, {"state": state}]}}


def deleted(pod: Thing, at: str, grace: int | None = 0) -> Thing:
    about = {"deletionTimestamp": at, "deletionGracePeriodSeconds": grace}
    return pod | {"metadata": pod["metadata"] | about}


@pytest.mark.parametrize(
    ("labels", "namespace", "key"),
    [
        ({}, "gc-workspace-3", (7, 1, 3)),
        ({}, "gc-workspace-4", None),
        ({object_names.JOB: "07"}, "gc-workspace-3", None),
        ({object_names.ATTEMPT: ""}, "gc-workspace-3", None),
        ({object_names.WORKSPACE: "three"}, "gc-workspace-3", None),
    ],
)
def test_labels_and_namespace_name_the_attempt(
    labels: dict[str, str], namespace: str, key: tuple[int, int, int] | None
) -> None:
    assert attempt_key_of_object(thing(namespace=namespace, **labels)) == key


def test_an_attempt_has_its_owner_and_its_pods() -> None:
    launcher, other = thing(**{object_names.ROLE: object_names.LAUNCHER}), worker()
    owner, foreign, another = thing("MPIJob"), thing(namespace="default"), thing(job=8)
    runs = group_by_attempt([other, owner, foreign, launcher, another])
    assert runs == {
        (7, 1): RunObjects(7, 1, 3, owner, [other, launcher]),
        (8, 1): RunObjects(8, 1, 3, None, [another]),
    }
    run = runs[7, 1]
    assert run.key == (7, 1) and run.shim_pod is launcher
    run.pods.append(ended(worker()))
    assert run.live_pods == [other, launcher]


@pytest.mark.parametrize(
    ("labels", "is_worker", "has_shim"),
    [
        ({}, False, True),
        ({object_names.ROLE: object_names.LAUNCHER}, False, True),
        ({object_names.ROLE: "worker"}, True, False),
        ({object_names.INDEX: "0"}, False, True),
        ({object_names.INDEX: "1"}, False, False),
    ],
)
def test_one_pod_of_an_attempt_has_the_shim(labels: dict[str, str], is_worker: bool, has_shim: bool) -> None:
    pod = thing(**labels)
    assert (is_mpi_worker(pod), is_shim_pod(pod)) == (is_worker, has_shim)


@pytest.mark.parametrize(
    ("phase", "is_over", "is_running"),
    [
        ("Pending", False, False),
        ("Running", False, True),
        ("Succeeded", True, False),
        ("Failed", True, False),
    ],
)
def test_a_pod_is_over_after_its_last_phase(phase: str, is_over: bool, is_running: bool) -> None:
    pod = thing() | {"status": {"phase": phase}}
    assert (is_pod_over(pod), is_pod_running(pod)) == (is_over, is_running)


def test_a_pod_is_bound_once_it_has_a_node() -> None:
    bound = thing() | {"spec": {"nodeName": "gpu01"}}
    assert (pod_node(bound), is_bound(bound), pod_node({}), is_bound(thing())) == ("gpu01", True, "", False)


def test_the_first_container_that_has_ended_says_how() -> None:
    assert container_exit(ended(thing(), exitCode=3)) == {"exitCode": 3, "finishedAt": ENDED}
    assert container_exit(thing()) is None


@pytest.mark.parametrize(
    ("grace", "seconds_past_ten", "is_now"), [(45, 15, False), (1, 59, True), (0, 60, True), (None, 60, True)]
)
def test_a_deletion_was_asked_for_as_long_before_its_time_as_its_grace(
    grace: int | None, seconds_past_ten: int, is_now: bool
) -> None:
    pod = deleted(thing(), "2026-11-21T10:01:00Z", grace)
    at = deletion_requested_at(pod)
    assert at is not None and (at.minute * 60 + at.second) == seconds_past_ten
    assert is_deleting_now(pod) is is_now


def test_nothing_was_asked_of_a_pod_that_is_not_deleted() -> None:
    assert deletion_requested_at(thing()) is None
    assert not is_deleting_now(thing())


@pytest.mark.parametrize(
    ("pod", "is_removed"),
    [
        (deleted(worker(), "2026-11-21T10:00:31Z"), True),
        (deleted(worker(), ENDED), False),
        (deleted(thing(), "2026-11-21T10:00:31Z"), False),
        (worker(), False),
    ],
    ids=["after the launcher", "in its second", "no worker", "not deleted"],
)
def test_the_operator_removes_workers_after_the_launcher_has_ended(pod: Thing, is_removed: bool) -> None:
    assert was_removed_by_operator(pod, ended(thing(), exitCode=0)) is is_removed
    assert not was_removed_by_operator(pod, thing())
    assert not was_removed_by_operator(pod, None)


@pytest.mark.parametrize(
    ("born", "is_replaced"), [(BORN, False), ("2026-11-21T09:59:59Z", False), ("2026-11-21T10:00:01Z", True)]
)
def test_a_worker_that_is_younger_than_the_launcher_replaces_a_lost_one(born: str, is_replaced: bool) -> None:
    launcher, other = thing(**{object_names.ROLE: object_names.LAUNCHER}), worker(creationTimestamp=born)
    assert has_replaced_worker(RunObjects(7, 1, 3, pods=[other, launcher])) is is_replaced
    assert not has_replaced_worker(RunObjects(7, 1, 3, pods=[other]))


DISTURBED = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("pod", "has_failed"),
    [
        (ended(thing(), exitCode=1), True),
        (ended(thing(), exitCode=0), False),
        (thing(), False),
        (deleted(ended(thing(), exitCode=1), ENDED), False),
        (thing() | {"status": ended(thing(), exitCode=1)["status"] | {"reason": "Evicted"}}, False),
        (thing() | {"status": ended(thing(), exitCode=1)["status"] | {"conditions": DISTURBED}}, False),
        (ended(worker(), exitCode=255), False),
        (ended(worker(), exitCode=137, reason="OOMKilled"), True),
    ],
)
def test_a_program_fails_by_itself_where_nobody_took_its_pod_away(pod: Thing, has_failed: bool) -> None:
    assert has_failed_by_itself(pod) is has_failed


def test_a_snapshot_has_our_attempts_and_the_nodes_that_are_silent() -> None:
    def node(name: str, status: str) -> Thing:
        return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}}

    asked: list[tuple[str, str, str]] = []

    class Api:
        things = {"Pod": [thing()], "Node": [node("gpu01", "True"), node("gpu02", "Unknown")]}

        def list_all(self, kind: str, labels: str = "", namespace: str = "") -> ObjectList:
            asked.append((kind, labels, namespace))
            return ObjectList(self.things.get(kind, []), "1")

    snapshot = read_snapshot(cast(KubernetesApi, Api()), "here", 12.5, "gc-workspace-3", job="7")
    assert (snapshot.read_at, list(snapshot.runs), snapshot.silent_nodes) == (12.5, [(7, 1)], {"gpu02"})
    assert [kind for kind, _, _ in asked] == ["Job", "MPIJob", "Pod", "Node"]
    for _, labels, namespace in asked[:3]:
        assert "here" in labels and "7" in labels and namespace == "gc-workspace-3"


@pytest.mark.parametrize(
    ("status", "has_cards"),
    [
        ({"allocatable": {"rdma/hca": "1k"}}, True),
        ({"allocatable": {"rdma/hca": "1000"}}, True),
        ({"allocatable": {"rdma/hca": "0"}}, False),
        ({"allocatable": {"nvidia.com/gpu": "8"}}, False),
        ({"allocatable": None}, False),
        ({}, False),
    ],
)
def test_a_node_offers_rdma_cards_by_its_device_plugin(status: dict[str, Any], has_cards: bool) -> None:
    assert has_rdma_cards({"metadata": {"name": "gpu01"}, "status": status}) is has_cards
