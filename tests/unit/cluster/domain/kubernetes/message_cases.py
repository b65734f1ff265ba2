"""Real messages of Kubernetes and Kueue from tests/data/kubernetes, with the reason that each stands for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.domain.kubernetes.kubelet_messages import reason_of_pod
from cluster.domain.kubernetes.kueue_messages import reason_of_workload
from cluster.domain.kubernetes.node_conditions import reason_of_node
from cluster.domain.kubernetes.reasons import KubernetesReason, kubernetes_reason_data

FOLDER = Path(__file__).parents[4] / "data" / "kubernetes"
Case = dict[str, Any]
"""A message as Kubernetes or Kueue wrote it, and under `means` the code and data that it stands for."""
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


def cases_of(name: str) -> list[Any]:
    """Parameters `thing`, `read` and `means` of each message in one file of tests/data/kubernetes."""
    make, read = FILES[name]
    messages = yaml.safe_load((FOLDER / name).read_text())
    return [
        pytest.param(make(case), read, case["means"], id=f"{name}-{number}")
        for number, case in enumerate(messages)
    ]


def check_reason(reason: KubernetesReason | None, means: Case | None) -> None:
    """Code and data are the expected ones; the text of a message without words counts if the case names it."""
    actual = {"code": reason.code, **kubernetes_reason_data(reason)} if reason else None
    if means and actual and means["code"] == "kubernetes.no_words" and "said" not in means:
        actual.pop("said")
    assert actual == means
