"""A disagreement names the pod that holds most of what a job of ours lacks on its node."""

from typing import Any

import pytest

from cluster import words
from cluster.domain.kubernetes.disagreements import find_disagreements
from tests.unit.cluster.domain.kubernetes.test_status import NOW, OURS, REFUSED, Object, pod

BOUND = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["gpu01"]}]}
        ]
    }
}


def a_waiting_pod(memory: str = "16Gi") -> Object:
    """Bound to gpu01, where kube-scheduler finds too little memory."""
    (refused,) = REFUSED["conditions"]
    told = [refused | {"message": "0/3 nodes are available: 1 Insufficient memory."}]
    waiting = pod("job-7-a", node="", phase="Pending", job=7, conditions=told)
    waiting["spec"] |= {"affinity": {"nodeAffinity": BOUND}}
    waiting["spec"]["containers"] = [{"resources": {"requests": {"memory": memory}}}]
    return waiting


def holding_memory(name: str, memory: str, **more: Any) -> Object:
    other = pod(name, **more)
    other["spec"]["containers"] = [{"resources": {"requests": {"memory": memory}}}]
    return other


def test_who_holds_the_memory_that_a_job_of_ours_lacks_is_named() -> None:
    greedy, modest = holding_memory("greedy", "100Gi"), holding_memory("modest", "1Gi")
    *_, found = find_disagreements([a_waiting_pod()], [], OURS, NOW)
    assert found.code == "disagreement.refused"
    told = find_disagreements([modest, greedy, a_waiting_pod()], [], OURS, NOW)
    (named,) = [each for each in told if each.code == "disagreement.in_the_way"]
    assert words.sentence(named.code, named.data) == (
        "Pod default/greedy holds 100 GiB of memory on gpu01, which job-7 lacks."
    )
    assert named.node == "gpu01"


@pytest.mark.parametrize(
    "other",
    [
        holding_memory("elsewhere", "100Gi", node="gpu02"),
        holding_memory("over", "100Gi", phase="Succeeded"),
        holding_memory("ours", "100Gi", job=8),
        holding_memory("nothing", "0"),
        holding_memory("coredns", "1Gi") | {"metadata": {"name": "coredns", "namespace": "kube-system"}},
    ],
)
def test_who_is_not_in_the_way_is_not_named(other: Object) -> None:
    found = find_disagreements([other, a_waiting_pod()], [], OURS, NOW)
    assert [each.code for each in found] == ["disagreement.refused"]
