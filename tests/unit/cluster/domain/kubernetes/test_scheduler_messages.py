"""Messages of kube-scheduler about a pod without a node become reasons with a number of nodes for each cause."""

from typing import Any

import pytest

from cluster.domain.kubernetes.scheduler_messages import (
    cause_of_taint,
    causes_of_chosen,
    nodes_bound_by_name,
    parse_cause,
    parse_causes,
    reason_of_scheduling,
    with_requested_amount,
)
from tests.unit.cluster.domain.kubernetes.message_cases import Case, Read, cases_of, check_reason

CLOSED, TOO_LITTLE, ELSEWHERE = (
    "kubernetes.node.closed",
    "kubernetes.node.too_little",
    "kubernetes.node.not_placed_there",
)


@pytest.mark.parametrize(("thing", "read", "means"), cases_of("scheduler.yml"))
def test_what_is_said_is_understood(thing: Case, read: Read, means: Case | None) -> None:
    check_reason(read(thing), means)


@pytest.mark.parametrize(
    "condition", [None, {"status": "True"}, {"status": "Unknown", "message": "0/3 nodes are available: …"}]
)
def test_a_pod_that_has_a_node_or_was_not_looked_at_has_no_reason(condition: dict[str, Any] | None) -> None:
    conditions = [{"type": "PodScheduled"} | condition] if condition else []
    assert reason_of_scheduling({"status": {"conditions": conditions}}) is None


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        ("1 Insufficient cpu", [(TOO_LITTLE, {"nodes": 1, "what": "cpu"})]),
        (
            "1 node(s) were unschedulable, 2 Insufficient nvidia.com/gpu",
            [(TOO_LITTLE, {"nodes": 2, "what": "nvidia.com/gpu"}), (CLOSED, {"nodes": 1})],
        ),
        (
            "1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, "
            "2 node(s) had untolerated taint {node.kubernetes.io/not-ready: }",
            [("kubernetes.node.away", {"nodes": 3})],
        ),
        ("1 Insufficient cpu, 1 node(s) are haunted", []),
        ("node(s) without a number", []),
    ],
)
def test_equal_causes_are_added_up_and_most_nodes_come_first(
    text: str, causes: list[tuple[str, Any]]
) -> None:
    assert [(each["code"], each["data"]) for each in parse_causes(text)] == causes


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Insufficient memory", (TOO_LITTLE, "memory")),
        ("Too many pods", ("kubernetes.node.many_pods", "")),
        ("node(s) had untolerated taint(s)", ("kubernetes.node.tainted", "")),
        ("node(s) had untolerated taint {team: red}", ("kubernetes.node.tainted", "")),
        ("node(s) had volume node affinity conflict", ("kubernetes.node.volume_elsewhere", "")),
        ("node(s) are haunted", None),
    ],
)
def test_a_cause_is_a_code_with_what_it_speaks_of(text: str, cause: tuple[str, str] | None) -> None:
    assert parse_cause(text) == cause


@pytest.mark.parametrize(
    ("taint", "cause"),
    [
        ("node.kubernetes.io/out-of-service", ("kubernetes.node.away", "")),
        ("node.kubernetes.io/unschedulable", ("kubernetes.node.closed", "")),
        ("node.kubernetes.io/disk-pressure", ("kubernetes.node.pressed", "disk")),
        ("node-role.kubernetes.io/control-plane", ("kubernetes.node.master", "")),
        ("team", ("kubernetes.node.tainted", "")),
    ],
)
def test_taints_of_kubernetes_have_causes_of_their_own(taint: str, cause: tuple[str, str]) -> None:
    assert cause_of_taint(taint) == cause


def cause(code: str, nodes: int) -> dict[str, Any]:
    return {"code": code, "data": {"nodes": nodes}}


@pytest.mark.parametrize(
    ("causes", "left"),
    [
        ([cause(ELSEWHERE, 3), cause(TOO_LITTLE, 2), cause(CLOSED, 1)], [TOO_LITTLE]),
        ([cause(ELSEWHERE, 3), cause(TOO_LITTLE, 1), cause(CLOSED, 1)], [TOO_LITTLE, CLOSED]),
        ([cause(ELSEWHERE, 4)], []),
    ],
    ids=["all chosen nodes are too small", "one of the chosen may be closed", "others only"],
)
def test_causes_of_nodes_to_which_the_pod_is_not_bound_are_left_out(
    causes: list[dict[str, Any]], left: list[str]
) -> None:
    assert [each["code"] for each in causes_of_chosen(causes, 2)] == left


def test_the_nodes_to_which_a_pod_is_bound_are_those_of_its_affinity() -> None:
    expressions = [
        {"key": "kubernetes.io/hostname", "values": ["gpu01", "gpu02"]},
        {"key": "zone", "values": ["west"]},
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert nodes_bound_by_name({"spec": {"affinity": affinity}}) == ("gpu01", "gpu02")
    assert nodes_bound_by_name({"spec": {}}) == ()


@pytest.mark.parametrize(
    ("asked", "needed"), [({"cpu": "1500m"}, {"needed": 1.5}), ({"cpu": "4"}, {"needed": 4}), ({}, {})]
)
def test_a_lack_says_how_much_the_pod_asks_for(asked: dict[str, str], needed: dict[str, float]) -> None:
    pod = {"spec": {"containers": [{"resources": {"requests": asked}}]}}
    lack = {"code": TOO_LITTLE, "data": {"nodes": 1, "what": "cpu"}}
    assert with_requested_amount(lack, pod)["data"] == {"nodes": 1, "what": "cpu"} | needed
    other = {"code": CLOSED, "data": {"nodes": 1}}
    assert with_requested_amount(other, pod) == other
