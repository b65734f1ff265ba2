"""Troubles of the Kubernetes cluster are alerts for administrators."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cluster.domain.alerts import AlertTopic, AlertUrgency
from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus, SystemWorkloadStatus
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.alerts.kubernetes_alerts import (
    certificate_alerts,
    disagreement_alerts,
    kubernetes_alerts,
    kubernetes_node_alerts,
    system_workload_alerts,
)
from cluster.services.context import Cluster
from cluster.services.kubernetes import status
from cluster.services.leases import HeldLease, acquire_lease
from cluster.store.nodes import Node
from tests.builders import a_node, a_user, actor_of, an_administrator

STRANGER = Disagreement(
    "disagreement.stranger",
    "default/trainer",
    "gpu07",
    {"pod": "default/trainer", "node": "gpu07", "units": 2, "kind": "gpu"},
)


@pytest.fixture
def held(cluster: Cluster) -> HeldLease:
    lease = acquire_lease(cluster, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    return lease


def concerns(
    cluster: Cluster, *found: Disagreement, **more: tuple[object, ...]
) -> list[tuple[AlertUrgency, AlertTopic, str, object]]:
    held = acquire_lease(cluster, "scheduler", "me", timedelta(days=30))
    assert held
    status.record_kubernetes_status(
        cluster, held, KubernetesStatus(cluster.clock(), disagreements=found, **more)
    )  # type: ignore[arg-type]
    chief = actor_of(an_administrator(cluster))
    return [(each.urgency, each.topic, each.code, each.subject) for each in list_alerts(cluster, chief)]


def test_an_administrator_is_told_of_a_strangers_pod_by_its_name(cluster: Cluster) -> None:
    expected = (AlertUrgency.CAUTION, AlertTopic.KUBERNETES, "disagreement.stranger", "default/trainer")
    assert expected in concerns(cluster, STRANGER)


def test_two_jobs_on_one_unit_are_graver(cluster: Cluster) -> None:
    alarm = Disagreement(
        "disagreement.unit_twice", "GPU-a", data={"unit": "GPU-a", "jobs": ["job-7", "job-8"]}
    )
    found = concerns(cluster, STRANGER, alarm)
    codes = [code for _, _, code, _ in found]
    assert codes.index("disagreement.unit_twice") < codes.index("disagreement.stranger")


def test_of_many_of_a_kind_three_are_shown(cluster: Cluster) -> None:
    many = [replace(STRANGER, subject=f"default/{number}") for number in range(9)]
    assert len([each for each in concerns(cluster, *many) if each[2] == "disagreement.stranger"]) == 3


def test_a_node_that_kubernetes_does_not_use_leads_to_its_page(cluster: Cluster) -> None:
    node = a_node(cluster, 2, name="GPU07")
    problem = {"code": "kubernetes.engine_down", "data": {"node": "gpu07"}}
    standing = (
        KubernetesNodeStatus("gpu07", False, True, problem=problem),
        KubernetesNodeStatus("other", True, True, pressures=("disk",)),
    )
    found = concerns(cluster, nodes=standing)
    assert (AlertUrgency.UNREACHABLE, AlertTopic.NODE, "attention.kubernetes_node", node.id) in found
    assert (AlertUrgency.CAUTION, AlertTopic.KUBERNETES, "attention.node_pressed", "other") in found


def test_a_watcher_of_the_pod_network_that_hears_nothing_is_told(cluster: Cluster) -> None:
    node = a_node(cluster, 2, name="gpu07")
    silent = KubernetesNodeStatus("gpu07", True, True, watcher_silent_since="2026-11-24T10:00:00+00:00")
    found = concerns(cluster, nodes=(silent, KubernetesNodeStatus("gpu08", True, True)))
    told = [each for each in found if each[2] == "attention.pod_network_silent"]
    assert told == [(AlertUrgency.BROKEN, AlertTopic.NODE, "attention.pod_network_silent", node.id)]


def test_a_node_that_was_closed_by_hand_is_not_forgotten(cluster: Cluster) -> None:
    closed, missing = a_node(cluster, 2, name="gpu07"), a_node(cluster, 2, name="gpu08")
    found = concerns(cluster, nodes=(KubernetesNodeStatus("gpu07", True, False),))
    for node in (closed, missing):
        assert (AlertUrgency.CAUTION, AlertTopic.NODE, "attention.kubernetes_node", node.id) in found


def test_an_operator_that_is_not_whole_is_told(cluster: Cluster) -> None:
    operators = (
        SystemWorkloadStatus("kueue-system/kueue", 0, 1),
        SystemWorkloadStatus("mpi-operator/mpi", 1, 1),
    )
    told = [
        each for each in concerns(cluster, operators=operators) if each[2] == "attention.operator_not_whole"
    ]
    assert [each[3] for each in told] == ["kueue-system/kueue"]


@pytest.mark.parametrize(
    ("days", "code"),
    [(40, None), (29, "attention.certificate_ends"), (-2, "attention.certificate_ended")],
)
def test_certificates_are_told_of_a_month_before_their_end(
    cluster: Cluster, days: int, code: str | None
) -> None:
    node = a_node(cluster, 2)
    end = cluster.clock() + timedelta(days=days, hours=1)
    with cluster.store.write() as session:
        session.get_one(Node, node.id).facts = {"kubernetes_certificates": {"apiserver": end.isoformat()}}
    told = [each.code for each in list_alerts(cluster, actor_of(an_administrator(cluster)))]
    assert [each for each in told if each.startswith("attention.certificate")] == ([code] if code else [])


def test_nobody_else_is_told(cluster: Cluster) -> None:
    concerns(cluster, STRANGER)
    member = actor_of(a_user(cluster))
    assert not [each for each in list_alerts(cluster, member) if each.topic is AlertTopic.KUBERNETES]


@pytest.mark.parametrize(
    ("code", "data", "expected"),
    [
        ("disagreement.unit_twice", {}, (AlertUrgency.BROKEN, AlertTopic.KUBERNETES, "it")),
        ("disagreement.refused", {"job_id": 7}, (AlertUrgency.WAITING, AlertTopic.JOB, 7)),
        ("disagreement.closed_door", {}, (AlertUrgency.FAILED, AlertTopic.KUBERNETES, "it")),
        ("disagreement.stranger", {}, (AlertUrgency.CAUTION, AlertTopic.KUBERNETES, "it")),
    ],
)
def test_each_kind_of_disagreement_has_its_urgency_and_topic(
    code: str, data: dict[str, int], expected: tuple[object, ...]
) -> None:
    (alert,) = disagreement_alerts([Disagreement(code, "it", data=data)])
    assert (alert.urgency, alert.topic, alert.subject) == expected


def test_a_node_without_a_row_has_its_name_as_subject_and_each_trouble_its_alert() -> None:
    problem = {"code": "kubernetes.engine_down", "data": {"node": "gpu07"}}
    node = KubernetesNodeStatus("gpu07", False, True, problem=problem, pressures=("disk",))
    for ids, subject in (({"gpu07": 3}, (AlertTopic.NODE, 3)), ({}, (AlertTopic.KUBERNETES, "gpu07"))):
        alerts = list(kubernetes_node_alerts(node, ids))
        assert [each.code for each in alerts] == ["attention.kubernetes_node", "attention.node_pressed"]
        assert {(each.topic, each.subject) for each in alerts} == {subject}


def test_without_kubernetes_there_are_no_alerts_of_it(cluster: Cluster) -> None:
    assert list(kubernetes_alerts(cluster)) == []
    assert list(certificate_alerts([], cluster.clock())) == []
    workload = SystemWorkloadStatus("kueue-system/kueue", 1, 2)
    standing = KubernetesStatus(cluster.clock(), operators=(workload,))
    assert [each.data for each in system_workload_alerts(standing)] == [
        {"name": "kueue-system/kueue", "ready": 1, "wanted": 2}
    ]
