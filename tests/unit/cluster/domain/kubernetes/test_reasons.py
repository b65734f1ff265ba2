"""What Kubernetes says becomes a reason of ours with numbers and names, and never its own English."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import words
from cluster.domain.kubernetes.kubelet_messages import reason_of_pod
from cluster.domain.kubernetes.kueue_messages import reason_of_workload
from cluster.domain.kubernetes.node_conditions import reason_of_node
from cluster.domain.kubernetes.reasons import KUBERNETES_REASONS, KubernetesReason, kubernetes_reason_data

FOLDER = Path(__file__).parents[4] / "data" / "kubernetes"
Case = dict[str, Any]
LIMITS = {"limits": {"memory": "4Gi", "nvidia.com/gpu": "2"}}


def workload_of(case: Case) -> Case:
    return {"status": {"conditions": [case["condition"] | {"message": case["message"]}]}}


def waiting_pod_of(case: Case) -> Case:
    condition = {"type": "PodScheduled", "status": "False", "message": case["message"]}
    conditions = [condition | {"reason": case.get("reason", "Unschedulable")}]
    return {"spec": case.get("spec", {}), "status": {"conditions": conditions}}


def pod_of(case: Case) -> Case:
    spec = {"nodeName": "gpu01", "containers": [{"name": "run", "resources": LIMITS}]}
    return {"metadata": {"name": "job-12-1"}, "spec": spec, "status": case["status"]}


def node_of(case: Case) -> Case:
    ready = case["ready"] | {"type": "Ready", "lastTransitionTime": "2026-11-21T10:00:00Z"}
    return {"metadata": {"name": "gpu01"}, "status": {"conditions": [ready]}}


Read = Callable[[Case], KubernetesReason | None]
FILES: dict[str, tuple[Callable[[Case], Case], Read]] = {
    "kueue.yml": (workload_of, reason_of_workload),
    "scheduler.yml": (waiting_pod_of, reason_of_pod),
    "pods.yml": (pod_of, reason_of_pod),
    "nodes.yml": (node_of, reason_of_node),
}
CASES = [
    pytest.param(make(case), read, case["means"], id=f"{name}-{number}")
    for name, (make, read) in FILES.items()
    for number, case in enumerate(yaml.safe_load((FOLDER / name).read_text()))
]


@pytest.mark.parametrize(("thing", "read", "means"), CASES)
def test_what_is_said_is_understood(thing: Case, read: Read, means: Case | None) -> None:
    reason = read(thing)
    found = {"code": reason.code, **kubernetes_reason_data(reason)} if reason else None
    if means and found and means["code"] == "kubernetes.no_words" and "said" not in means:
        found.pop("said")
    assert found == means


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("thing", "read", "means"), CASES)
def test_a_sentence_says_it_with_every_number_and_name(
    thing: Case, read: Read, means: Case | None, language: str
) -> None:
    if means is None:
        return
    reason = read(thing)
    assert reason is not None
    sentence = words.sentence(reason.code, kubernetes_reason_data(reason), language)
    assert "…" not in sentence and "kubernetes." not in sentence and "{" not in sentence
    for name in ("node", "image", "needed", "lacking", "limit", "command"):
        assert str(means.get(name, "")) in sentence


@pytest.mark.parametrize(("thing", "read", "means"), CASES)
def test_no_sentence_repeats_a_controller(thing: Case, read: Read, means: Case | None) -> None:
    reason = read(thing)
    text = words.sentence(reason.code, kubernetes_reason_data(reason)) if reason else ""
    for foreign in (
        "couldn't",
        "insufficient",
        "Insufficient",
        "node(s)",
        "podset",
        "rpc error",
        "taint",
        "exec:",
    ):
        assert foreign not in text


def test_every_reason_has_a_message_of_its_own() -> None:
    said = {param.values[2]["code"] for param in CASES if param.values[2]}  # type: ignore[index]
    assert said == set(KUBERNETES_REASONS)
