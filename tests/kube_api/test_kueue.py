"""The real Kueue as the second fence: it admits what fits into a term, holds the rest, and says why in our words."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from cluster import words
from cluster.domain.kubernetes.api_objects import conditions_of, is_condition_true
from cluster.domain.kubernetes.disagreements import IGNORED_WHILE_NEW, find_disagreements
from cluster.domain.kubernetes.kueue_messages import reason_of_workload
from cluster.domain.kubernetes.reasons import (
    KubernetesReason,
    KueueQuotaUsed,
    KueueStopped,
    kubernetes_reason_data,
)
from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE, WorkspaceNamespace
from tests.kube_api.kueue import kueue
from tests.kubernetes.api_server import ApiServer, until
from tests.kubernetes.compiled_programs import NOT_BUILT, NotCompiled
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.namespaces.sync import NamespaceSync, SyncReport
from worker.kubernetes.object_kinds import object_head
from worker.kubernetes.object_names import LOCAL_QUEUE, QUEUE_LABEL, run_name, workspace_namespace
from worker.scheduling.kubernetes_watch import ownership_marks_of

SPEECH = WorkspaceNamespace(880, "speech", 4, True)


@pytest.fixture(scope="module")
def second_fence(server: ApiServer) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("Kueue not asked: only root can give it an /etc of its own")
    try:
        with kueue(server):
            yield
    except NotCompiled:
        pytest.skip(f"Kueue not asked: {NOT_BUILT}")


def job(name: str, units: int) -> KubernetesObject:
    secure = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    asks = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {GPU_RESOURCE: str(units), "memory": "1Gi"}}
    container = {"name": "run", "image": "i", "securityContext": secure, "resources": asks}
    pod = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    about = object_head("Job", name, workspace_namespace(SPEECH.workspace), {QUEUE_LABEL: LOCAL_QUEUE})
    return about | {"spec": {"suspend": True, "backoffLimit": 0, "template": pod}}


def workload_of(server: ApiServer, name: str) -> KubernetesObject | None:
    listed = server.api.list_all("Workload", namespace=workspace_namespace(SPEECH.workspace)).things
    owned = (each for each in listed if each["metadata"]["ownerReferences"][0]["name"] == name)
    return next(owned, None)


def is_admitted(server: ApiServer, name: str) -> bool:
    workload = workload_of(server, name)
    return workload is not None and is_condition_true(conditions_of(workload).get("Admitted"))


def reason_of(server: ApiServer, name: str) -> KubernetesReason | None:
    workload = workload_of(server, name)
    return reason_of_workload(workload) if workload else None


def test_of_three_jobs_two_are_let_in_and_after_the_term_none(server: ApiServer, second_fence: None) -> None:
    keeper = NamespaceSync(server.api, "fenced")
    keeper.sync([SPEECH])
    queue = workspace_namespace(SPEECH.workspace)
    until(
        lambda: is_condition_true(conditions_of(server.api.get("ClusterQueue", queue) or {}).get("Active")),
        "its queue",
    )
    one, two, three, late = (run_name(number, 1) for number in range(1, 5))
    for name in (one, two):
        server.api.create(job(name, 2))
        until(lambda asked=name: is_admitted(server, asked), f"{name} is admitted")  # type: ignore[misc]
    server.api.create(job(three, 2))
    reason = until(lambda: reason_of(server, three), "why it waits")
    assert reason == KueueQuotaUsed(GPU_RESOURCE, "groundcrew-units", "2")
    assert "lacks 2 × GPUs" in words.sentence(reason.code, kubernetes_reason_data(reason))
    workloads = server.api.list_all("Workload", namespace=queue).things
    (told,) = find_disagreements(
        [], workloads, ownership_marks_of("fenced"), datetime.now(UTC) + IGNORED_WHILE_NEW
    )
    assert told.subject == "job-3" and told.data["why"]["code"] == reason.code
    assert keeper.sync([SPEECH]) == SyncReport(), (
        "what Kueue itself writes on its objects is no change by hand"
    )

    server.api.delete("Job", one, queue)
    until(lambda: is_admitted(server, three), "the third begins by itself")

    keeper.sync([WorkspaceNamespace(SPEECH.workspace, "speech", 0, False)])
    server.api.create(job(late, 1))
    stopped = until(lambda: isinstance(reason_of(server, late), KueueStopped), "the term is over")
    assert stopped and is_admitted(server, two) and is_admitted(server, three)
