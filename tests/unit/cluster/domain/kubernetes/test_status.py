"""The status of Kubernetes lists its disagreements with the queue, its nodes and its operators."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster import words
from cluster.domain.kubernetes.disagreements import (
    Disagreement,
    OwnershipMarks,
    find_disagreements,
    find_units_held_twice,
)
from cluster.domain.kubernetes.status import (
    MAX_PER_CODE,
    KubernetesStatus,
    SystemWorkloadStatus,
    build_kubernetes_status,
    has_status_changed,
    kubernetes_status_to_data,
    parse_kubernetes_status,
    system_workload_status_of,
    with_silence,
)
from cluster.domain.kubernetes.suggested_repairs import soonest_certificate_end

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
OURS = OwnershipMarks(
    "lab/installation", "here", "lab/job", "lab/attempt", re.compile(r"gc-(\d+)-(\d+)"), "gc-workspace-"
)
GPUS = {"limits": {"nvidia.com/gpu": "2"}}
Object = dict[str, Any]


def pod(name: str, node: str = "gpu01", phase: str = "Running", job: int = 0, **more: Any) -> Object:
    """With two GPUs; of ours where it has a job."""
    labels = {"lab/installation": "here", "lab/job": str(job), "lab/attempt": "1"} if job else {"app": name}
    made = (NOW - more.pop("age", timedelta(hours=1))).isoformat().replace("+00:00", "Z")
    about = {"name": name, "namespace": "default", "labels": labels, "creationTimestamp": made}
    spec = {"containers": [{"name": "run", "resources": GPUS}]} | ({"nodeName": node} if node else {})
    return {"metadata": about, "spec": spec, "status": {"phase": phase, **more}}


REFUSED = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
        }
    ]
}


def workload(job: int, **condition: str) -> Object:
    """As Kueue makes it, with labels of its own alone."""
    owner = {"kind": "Job", "name": f"gc-{job}-1", "controller": True}
    about = {"name": f"job-gc-{job}-1-0a1b2", "namespace": "gc-workspace-3", "ownerReferences": [owner]}
    return {
        "metadata": about | {"labels": {"kueue.x-k8s.io/job-uid": "…"}},
        "status": {"conditions": [condition]},
    }


def test_a_pod_that_a_stranger_made_and_that_takes_units_has_its_name_and_number() -> None:
    found = find_disagreements([pod("mine-by-kubectl")], [], OURS, NOW)
    assert [(each.code, each.subject, each.node) for each in found] == [
        ("disagreement.stranger", "default/mine-by-kubectl", "gpu01")
    ]
    sentence = words.sentence(found[0].code, found[0].data)
    assert "default/mine-by-kubectl" in sentence and "2 GPUs" in sentence and "gpu01" in sentence


@pytest.mark.parametrize(
    "harmless",
    [
        pod("not-yet-anywhere", node="", phase="Pending"),
        pod("over", phase="Succeeded"),
        pod("ours", job=7),
        {"metadata": {"name": "x"}, "spec": {"nodeName": "gpu01", "containers": [{}]}, "status": {}},
    ],
)
def test_a_pod_without_units_of_ours_disagrees_with_nobody(harmless: Object) -> None:
    assert find_disagreements([harmless], [], OURS, NOW) == []


def test_a_pod_of_another_installation_is_a_stranger() -> None:
    other = pod("theirs", job=7)
    other["metadata"]["labels"]["lab/installation"] = "elsewhere"
    assert [each.code for each in find_disagreements([other], [], OURS, NOW)] == ["disagreement.stranger"]


def test_a_pod_with_our_installation_alone_is_a_stranger_too() -> None:
    half = pod("half", job=7)
    del half["metadata"]["labels"]["lab/job"]
    assert [each.code for each in find_disagreements([half], [], OURS, NOW)] == ["disagreement.stranger"]


def test_a_job_that_we_placed_and_the_scheduler_refuses_says_why() -> None:
    found = find_disagreements([pod("job-7-a", node="", phase="Pending", job=7, **REFUSED)], [], OURS, NOW)
    assert [(each.code, each.subject) for each in found] == [("disagreement.refused", "job-7")]
    assert "None of the 2 nodes" in words.sentence(found[0].code, found[0].data)


def test_a_pod_that_was_made_a_moment_ago_may_still_be_refused() -> None:
    young = pod("job-7-a", node="", phase="Pending", job=7, age=timedelta(seconds=3), **REFUSED)
    assert find_disagreements([young], [], OURS, NOW) == []


def test_what_kueue_says_counts_before_what_its_pods_say() -> None:
    held = workload(
        7, type="QuotaReserved", status="False", reason="Inadmissible", message="ClusterQueue q is stopped"
    )
    found = find_disagreements(
        [pod("job-7-a", node="", phase="Pending", job=7, **REFUSED)], [held], OURS, NOW
    )
    assert [each.data["why"]["code"] for each in found] == ["kubernetes.queue_stopped"]


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": "default"},
        {"namespace": "gc-workspace-3", "ownerReferences": [{"kind": "Job", "name": "gc-7-1-launcher"}]},
        {"namespace": "gc-workspace-3", "ownerReferences": None},
    ],
)
def test_what_kueue_says_of_others_is_no_news(other: Object) -> None:
    held = workload(7, type="QuotaReserved", status="False", reason="Pending", message="?")
    theirs = held | {"metadata": held["metadata"] | other}
    assert find_disagreements([], [theirs], OURS, NOW) == []
    assert [each.subject for each in find_disagreements([], [held, theirs], OURS, NOW)] == ["job-7"]


def test_a_pod_that_waits_for_kueue_is_no_disagreement() -> None:
    gated = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}
    assert find_disagreements([pod("a", node="", phase="Pending", job=7, **gated)], [], OURS, NOW) == []


def test_two_jobs_that_report_one_unit_are_an_alarm() -> None:
    assert find_units_held_twice({7: ["GPU-a", "GPU-b"], 8: ["GPU-c"]}) == []
    (alarm,) = find_units_held_twice({8: ["GPU-a"], 7: ["GPU-b", "GPU-a"], 9: ["GPU-c"]})
    assert (alarm.code, alarm.subject) == ("disagreement.unit_twice", "GPU-a")
    assert "job-7 and job-8" in words.sentence(alarm.code, alarm.data)


def test_disagreements_are_counted_once_each() -> None:
    one, other = Disagreement("disagreement.stranger", "a"), Disagreement("disagreement.stranger", "b")
    first = build_kubernetes_status([], [], [one], None, NOW)
    second = build_kubernetes_status([], [], [one, other], first, NOW)
    third = build_kubernetes_status([], [], [], second, NOW)
    assert [standing.seen for standing in (first, second, third)] == [1, 2, 2]


def node(name: str, *conditions: tuple[str, str], **spec: Any) -> Object:
    told = [
        {"type": kind, "status": status, "message": "container runtime is down"}
        for kind, status in conditions
    ]
    info = {"kubeletVersion": "v1.34.4", "containerRuntimeVersion": "containerd://1.7.24"}
    status = {"conditions": told, "nodeInfo": info, "allocatable": {"nvidia.com/gpu": "8", "cpu": "64"}}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def test_a_node_stands_with_kubelet_engine_units_and_what_is_wrong() -> None:
    closed = node("gpu01", ("Ready", "True"), ("DiskPressure", "True"), unschedulable=True)
    standing = build_kubernetes_status([node("gpu02", ("Ready", "False")), closed], [], [], None, NOW)
    first, second = standing.nodes
    assert (first.name, first.is_ready, first.is_open, first.pressures) == ("gpu01", True, False, ("disk",))
    assert (first.kubelet, first.engine, first.units) == ("v1.34.4", "containerd://1.7.24", 8)
    assert not second.is_ready and second.problem and second.problem["code"] == "kubernetes.engine_down"
    assert standing.node("GPU02") is second and standing.node("gpu03") is None


def lease(name: str, age: timedelta) -> Object:
    return {"metadata": {"name": name}, "spec": {"renewTime": (NOW - age).isoformat()}}


MINUTE = timedelta(minutes=1)
OTHER_LEASE = lease("groundcrew-pod-network-gpu02", 0 * MINUTE)


@pytest.mark.parametrize(
    ("leases", "age", "ready", "silent"),
    [
        ([lease("groundcrew-pod-network-gpu01", MINUTE)], 90 * MINUTE, "True", None),
        ([lease("groundcrew-pod-network-gpu01", 3 * MINUTE)], 90 * MINUTE, "True", 3 * MINUTE),
        ([lease("groundcrew-pod-network-gpu01", 3 * MINUTE)], 90 * MINUTE, "False", None),
        ([OTHER_LEASE], MINUTE, "True", None),
        ([OTHER_LEASE], 90 * MINUTE, "True", 90 * MINUTE),
        ([lease("another", MINUTE)], 90 * MINUTE, "True", None),
        ([], 90 * MINUTE, "True", None),
    ],
)
def test_a_watcher_is_silent_once_its_lease_is_old(
    leases: list[Object], age: timedelta, ready: str, silent: timedelta | None
) -> None:
    """A node that is not ready has its own alert; where nobody renews leases nothing is concluded."""
    one = node("gpu01", ("Ready", ready))
    one["metadata"]["creationTimestamp"] = (NOW - age).isoformat()
    (status,) = build_kubernetes_status([one], [], [], None, NOW, leases).nodes
    assert status.watcher_silent_since == ((NOW - silent).isoformat() if silent else None)


@pytest.mark.parametrize(
    ("ready", "new", "seen", "whole"), [(2, 2, 3, True), (1, 2, 3, False), (2, 1, 3, False), (2, 2, 2, False)]
)
def test_an_operator_is_whole_when_all_its_pods_are_ready_and_new(
    ready: int, new: int, seen: int, whole: bool
) -> None:
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "kueue", "namespace": "kueue-system", "generation": 3},
        "spec": {"replicas": 2},
        "status": {"readyReplicas": ready, "updatedReplicas": new, "observedGeneration": seen},
    }
    assert system_workload_status_of(deployment).is_whole is whole
    daemons = {
        "kind": "DaemonSet",
        "metadata": deployment["metadata"],
        "status": {
            "desiredNumberScheduled": 2,
            "numberReady": ready,
            "updatedNumberScheduled": new,
            "observedGeneration": seen,
        },
    }
    assert system_workload_status_of(daemons).is_whole is whole


def test_workloads_of_others_are_not_watched() -> None:
    other = {
        "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"replicas": 1},
    }
    assert build_kubernetes_status([], [other], [], None, NOW).operators == ()


def test_it_comes_back_from_a_row_as_it_was() -> None:
    nodes = [node("gpu01", ("Ready", "Unknown"))]
    standing = build_kubernetes_status(nodes, [], find_disagreements([pod("x")], [], OURS, NOW), None, NOW)
    assert parse_kubernetes_status(kubernetes_status_to_data(standing)) == standing
    later = with_silence(standing, NOW + timedelta(minutes=1))
    assert parse_kubernetes_status(kubernetes_status_to_data(later)) == later


def test_what_another_release_wrote_is_read_as_far_as_it_is_known() -> None:
    """The scheduler and every page of nodes read it; a row of yesterday must not keep them from today."""
    told = kubernetes_status_to_data(
        build_kubernetes_status([node("gpu01", ("Ready", "True"))], [], [Disagreement("a", "b")], None, NOW)
    )
    newer = told | {"mood": "good", "nodes": [told["nodes"][0] | {"moon": 1}, {"name": "half"}]}
    assert parse_kubernetes_status(newer) == parse_kubernetes_status(told)
    assert parse_kubernetes_status({"at": NOW.isoformat()}) == KubernetesStatus(NOW)


def test_silence_keeps_what_was_seen_and_its_own_beginning() -> None:
    seen = KubernetesStatus(NOW, operators=(SystemWorkloadStatus("a/b", 1, 1),))
    first = with_silence(seen, NOW + timedelta(minutes=1))
    second = with_silence(first, NOW + timedelta(minutes=2))
    assert second == first and first.operators == seen.operators and first.at == NOW
    assert first.silent_since == NOW + timedelta(minutes=1)
    assert has_status_changed(seen, first) and not has_status_changed(first, second)


def test_that_it_was_looked_at_again_is_no_news() -> None:
    assert not has_status_changed(KubernetesStatus(NOW), KubernetesStatus(NOW + timedelta(minutes=1)))
    assert has_status_changed(None, KubernetesStatus(NOW))


@pytest.mark.parametrize(
    ("told", "soonest"),
    [
        ({"apiserver": "2026-12-01T12:00:00+00:00", "ca": "2036-01-01T00:00:00+00:00"}, ("apiserver", 10)),
        ({"apiserver": "2026-11-20T12:00:00+00:00"}, ("apiserver", -1)),
        ({"apiserver": "soon", "b": "2026-11-22T12:00:00"}, None),
        ({}, None),
        ("nonsense", None),
    ],
)
def test_the_certificate_that_ends_first_is_known(told: object, soonest: tuple[str, int] | None) -> None:
    assert soonest_certificate_end({"kubernetes_certificates": told}, NOW) == soonest
    assert soonest_certificate_end({}, NOW) is None


def strangers(*numbers: int) -> list[Disagreement]:
    return [Disagreement("disagreement.stranger", f"default/pod-{number:04}") for number in numbers]


def test_of_a_thousand_strangers_fifty_are_kept_and_all_are_counted() -> None:
    twice = Disagreement("disagreement.unit_twice", "GPU-1")
    standing = build_kubernetes_status([], [], [*strangers(*range(1000)), twice], None, NOW)
    assert len(standing.disagreements) == MAX_PER_CODE + 1 and twice in standing.disagreements
    assert standing.count() == {"disagreement.stranger": 1000, "disagreement.unit_twice": 1}
    assert standing.seen == 1001
    assert parse_kubernetes_status(kubernetes_status_to_data(standing)) == standing
    assert len(str(kubernetes_status_to_data(standing))) < 20_000


def test_what_stays_is_not_counted_again_when_there_are_too_many_to_name() -> None:
    first = build_kubernetes_status([], [], strangers(*range(100, 200)), None, NOW)
    same = build_kubernetes_status([], [], strangers(*range(100, 200)), first, NOW)
    assert same.seen == 100 and not has_status_changed(first, same)
    earlier = build_kubernetes_status([], [], strangers(1, *range(100, 200)), same, NOW)
    assert earlier.seen == 101, "one that stands before all others pushes out one that was there"
    fewer = build_kubernetes_status([], [], strangers(*range(100, 110)), earlier, NOW)
    assert fewer.seen == 101 and not fewer.more
