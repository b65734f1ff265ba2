"""Messages of the kubelet in a pod's status become reasons."""

from typing import Any

import pytest

from cluster.domain.kubernetes.kubelet_messages import (
    container_states,
    memory_limit,
    reason_of_disruption,
    reason_of_pod,
)
from cluster.domain.kubernetes.reasons import kubernetes_reason_data
from tests.unit.cluster.domain.kubernetes.message_cases import Case, Read, cases_of, check_reason


@pytest.mark.parametrize(("thing", "read", "means"), cases_of("pods.yml"))
def test_what_is_said_is_understood(thing: Case, read: Read, means: Case | None) -> None:
    check_reason(read(thing), means)


def test_steps_of_preparation_come_before_the_containers() -> None:
    waiting, running = {"waiting": {"reason": "Errored"}}, {"running": None}
    pod = {
        "status": {
            "containerStatuses": [{"name": "run", "state": running}],
            "initContainerStatuses": [{"name": "prepare", "state": waiting}, {"name": "untouched"}],
        }
    }
    assert [(container["name"], state, kind) for container, state, kind in container_states(pod)] == [
        ("prepare", {"reason": "Errored"}, "waiting"),
        ("run", {}, "running"),
    ]
    assert list(container_states({})) == []


@pytest.mark.parametrize(
    ("container", "limit"), [("run", "4Gi"), ("sidecar", ""), ("bare", ""), ("no container", "")]
)
def test_the_memory_limit_is_that_of_the_container(container: str, limit: str) -> None:
    containers = [
        {"name": "bare"},
        {"name": "sidecar", "resources": {"limits": {"cpu": "1"}}},
        {"name": "run", "resources": {"limits": {"memory": "4Gi"}}},
    ]
    assert memory_limit({"spec": {"containers": containers}}, container) == limit


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        (None, None),
        ({"status": "False", "reason": "PreemptionByScheduler"}, None),
        ({"status": "True", "reason": "PreemptionByScheduler"}, "kubernetes.pushed_out"),
        ({"status": "True", "reason": "DeletionByPodGC"}, "kubernetes.taken_off"),
        ({"status": "True", "reason": "Invented", "message": "x"}, "kubernetes.no_words"),
    ],
)
def test_a_disruption_counts_once_its_condition_is_true(
    condition: dict[str, Any] | None, code: str | None
) -> None:
    conditions = [{"type": "DisruptionTarget"} | condition] if condition else []
    reason = reason_of_disruption({"status": {"conditions": conditions}}, "gpu01")
    assert (reason.code if reason else None) == code


def test_the_end_of_the_whole_pod_counts_before_that_of_a_container() -> None:
    killed = {"name": "run", "state": {"terminated": {"reason": "OOMKilled"}}}
    status = {"phase": "Running", "containerStatuses": [killed]}
    pod: dict[str, Any] = {"spec": {"nodeName": "gpu01"}, "status": status}
    by_container = reason_of_pod(pod)
    status |= {"phase": "Failed", "reason": "NodeShutdown"}
    of_whole_pod = reason_of_pod(pod)
    assert by_container is not None and kubernetes_reason_data(by_container)["container"] == "run"
    assert of_whole_pod is not None and kubernetes_reason_data(of_whole_pod) == {"node": "gpu01"}
