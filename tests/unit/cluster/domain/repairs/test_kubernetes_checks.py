"""Checks decide repairs of a cluster by what its hosts report, in a table."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.domain.repairs.check_results import CheckFacts
from cluster.domain.repairs.checks import evaluate_check
from cluster.domain.repairs.definition import KUBERNETES_CHECKS, CheckKind, RepairCheck
from cluster.domain.repairs.kubernetes_checks import control_certificates_last, has_all_pods

SINCE = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
READY = {"is_ready": True, "is_open": True, "reason": "KubeletReady"}
WELL: dict[str, Any] = {
    "api": 200,
    "etcd": 200,
    "certificates": {"apiserver": 364.9, "ca": 3649.9},
    "workloads": {"kube-system/coredns": [2, 2]},
    "node": READY,
    "network": "",
    "problem": "",
}
CHECKS = {
    CheckKind.CONTROL_PLANE_ANSWERS: RepairCheck(CheckKind.CONTROL_PLANE_ANSWERS),
    CheckKind.CONTROL_CERTIFICATES_LAST: RepairCheck(CheckKind.CONTROL_CERTIFICATES_LAST, {"days": 30}),
    CheckKind.WORKLOADS_READY: RepairCheck(CheckKind.WORKLOADS_READY, {"workloads": ["kube-system/coredns"]}),
    CheckKind.NODE_READY: RepairCheck(CheckKind.NODE_READY),
    CheckKind.PODS_NETWORKED: RepairCheck(CheckKind.PODS_NETWORKED),
}


@pytest.mark.parametrize(
    ("kind", "changed", "code"),
    [
        (CheckKind.CONTROL_PLANE_ANSWERS, {}, "check.control_plane_answers.ok"),
        (CheckKind.CONTROL_PLANE_ANSWERS, {"api": None}, "check.control_plane_answers.not"),
        (CheckKind.CONTROL_PLANE_ANSWERS, {"api": None, "etcd": None}, "check.control_plane_answers.etcd"),
        (CheckKind.CONTROL_PLANE_ANSWERS, {"api": 500}, "check.control_plane_answers.not"),
        (CheckKind.CONTROL_CERTIFICATES_LAST, {}, "check.control_certificates_last.ok"),
        (
            CheckKind.CONTROL_CERTIFICATES_LAST,
            {"certificates": {"ca": 900.0, "apiserver": 29.9}},
            "check.control_certificates_last.not",
        ),
        (CheckKind.CONTROL_CERTIFICATES_LAST, {"certificates": {}}, "check.control_certificates_last.not"),
        (CheckKind.WORKLOADS_READY, {}, "check.workloads_ready.ok"),
        (
            CheckKind.WORKLOADS_READY,
            {"workloads": {"kube-system/coredns": [1, 2]}},
            "check.workloads_ready.not",
        ),
        (CheckKind.WORKLOADS_READY, {"workloads": {}}, "check.workloads_ready.not"),
        (CheckKind.WORKLOADS_READY, {"problem": "refused"}, "check.control_plane_answers.not"),
        (CheckKind.NODE_READY, {}, "check.node_ready.ok"),
        (CheckKind.NODE_READY, {"node": READY | {"is_ready": False}}, "check.node_ready.not"),
        (CheckKind.NODE_READY, {"node": READY | {"is_open": False}}, "check.node_ready.not"),
        (CheckKind.PODS_NETWORKED, {}, "check.pods_networked.ok"),
        (CheckKind.PODS_NETWORKED, {"network": "none"}, "check.pods_networked.none"),
        (CheckKind.PODS_NETWORKED, {"network": "other"}, "check.pods_networked.other"),
    ],
)
def test_a_cluster_is_judged_by_what_its_hosts_said(
    kind: CheckKind, changed: dict[str, Any], code: str
) -> None:
    facts = CheckFacts(hosts={"gpu01": {"kubernetes": WELL | changed}})
    answer = evaluate_check(CHECKS[kind], facts, SINCE)
    assert (answer.code, answer.is_ok) == (code, code.endswith(".ok"))


@pytest.mark.parametrize("kind", CHECKS)
def test_a_host_that_said_nothing_is_never_green(kind: CheckKind) -> None:
    for facts in (CheckFacts(hosts={"gpu01": None}), CheckFacts(hosts={}), CheckFacts()):
        assert not evaluate_check(CHECKS[kind], facts, SINCE).is_ok


def test_each_check_of_a_cluster_is_tried_here() -> None:
    assert set(CHECKS) == KUBERNETES_CHECKS


def test_the_certificate_that_ends_first_is_named_with_its_whole_days() -> None:
    certificates = {"ca": 900.0, "apiserver": 29.9, "etcd": 12.7}
    facts = CheckFacts(hosts={"gpu01": {"kubernetes": WELL | {"certificates": certificates}}})
    result = control_certificates_last(CHECKS[CheckKind.CONTROL_CERTIFICATES_LAST], facts, SINCE)
    assert result.data == {"host": "gpu01", "name": "etcd", "days": 12}


@pytest.mark.parametrize(
    ("count", "expected"), [((2, 2), True), ((3, 2), True), ((1, 2), False), ((0, 0), True)]
)
def test_a_workload_is_ready_with_all_its_pods(count: tuple[int, int], expected: bool) -> None:
    assert has_all_pods(count) is expected
