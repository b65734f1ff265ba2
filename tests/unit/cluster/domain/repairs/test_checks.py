"""Checks decide repairs of servers: units and endpoints of each host, and playbooks that nobody has touched."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.domain.repairs.check_results import CheckFacts
from cluster.domain.repairs.checks import evaluate_check
from cluster.domain.repairs.definition import CheckKind, RepairCheck

SINCE = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
GOOD = {"load": "loaded", "active": "active", "enabled": "enabled", "since": SINCE.timestamp() + 5}
PORTAL = "groundcrew-portal.service"
RESTARTED = RepairCheck(CheckKind.UNITS_RUNNING, {"units": [PORTAL], "restarted": True})
DOOR = RepairCheck(CheckKind.ENDPOINT_ANSWERS, {"door": "/run/portal.sock"})


def seen(doors: dict[str, Any] | None = None, **changed: Any) -> CheckFacts:
    return CheckFacts(hosts={"gpu01": {"units": {PORTAL: GOOD | changed}, "doors": doors or {}}})


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, "check.units_running.ok"),
        ({"load": "masked"}, "check.units_running.not"),
        ({"active": "failed"}, "check.units_running.not"),
        ({"enabled": "disabled"}, "check.units_running.not"),
        ({"since": SINCE.timestamp() - 60}, "check.units_running.old"),
    ],
)
def test_a_unit_runs_that_was_restarted_and_comes_back_with_the_machine(changed: Any, code: str) -> None:
    assert evaluate_check(RESTARTED, seen(**changed), SINCE + timedelta(milliseconds=300)).code == code


def test_a_host_that_was_not_reached_or_not_looked_at_is_never_green() -> None:
    for facts in (CheckFacts(hosts={"gpu01": None}), CheckFacts(hosts={}), CheckFacts()):
        assert not evaluate_check(RESTARTED, facts, SINCE).is_ok
        assert not evaluate_check(DOOR, facts, SINCE).is_ok


ON_EACH_HOST = [
    RESTARTED,
    DOOR,
    RepairCheck(CheckKind.SITE_ANSWERS),
    RepairCheck(CheckKind.CERTIFICATE_LASTS, {"days": 30}),
    RepairCheck(CheckKind.HOST_STARTED),
    RepairCheck(CheckKind.GPUS_ANSWER),
]


@pytest.mark.parametrize("check", ON_EACH_HOST, ids=lambda check: check.kind)
def test_where_no_host_was_looked_at_that_is_what_is_said(check: RepairCheck) -> None:
    for facts in (CheckFacts(hosts={}), CheckFacts()):
        assert evaluate_check(check, facts, SINCE).to_data() == {
            "is_ok": False,
            "code": "check.host.none",
            "data": {},
        }


@pytest.mark.parametrize(("status", "is_ok"), [(200, True), (503, False), (None, False)])
def test_a_door_answers_well_or_not(status: int | None, is_ok: bool) -> None:
    assert evaluate_check(DOOR, seen({"/run/portal.sock": status}), SINCE).is_ok is is_ok


def site(status: int | None, seconds_left: float | None) -> CheckFacts:
    return CheckFacts(hosts={"gpu01": {"site": {"status": status, "seconds_left": seconds_left}}})


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (site(200, 40 * 86_400), "check.certificate_lasts.ok"),
        (site(200, 29 * 86_400), "check.certificate_lasts.not"),
        (site(200, -86_400), "check.certificate_lasts.not"),
        (site(None, None), "check.site_answers.not"),
        (CheckFacts(hosts={"gpu01": None}), "check.host.silent"),
    ],
)
def test_a_certificate_is_judged_by_what_the_site_shows(facts: CheckFacts, code: str) -> None:
    assert evaluate_check(RepairCheck(CheckKind.CERTIFICATE_LASTS, {"days": 30}), facts, SINCE).code == code


@pytest.mark.parametrize(("status", "is_ok"), [(200, True), (502, False), (None, False)])
def test_the_site_answers_well_or_not(status: int | None, is_ok: bool) -> None:
    assert evaluate_check(RepairCheck(CheckKind.SITE_ANSWERS), site(status, 1.0), SINCE).is_ok is is_ok


@pytest.mark.parametrize(("seconds", "is_ok"), [(5.0, True), (0.2, True), (-60.0, False)])
def test_a_machine_has_started_anew_since_the_repair_or_not(seconds: float, is_ok: bool) -> None:
    facts = CheckFacts(hosts={"gpu01": {"started": SINCE.timestamp() + seconds}})
    assert evaluate_check(RepairCheck(CheckKind.HOST_STARTED), facts, SINCE).is_ok is is_ok


@pytest.mark.parametrize(
    ("gpus", "code"),
    [
        ({"on_bus": 8, "answer": 8, "problem": ""}, "check.gpus_answer.ok"),
        ({"on_bus": 8, "answer": 7, "problem": ""}, "check.gpus_answer.not"),
        (
            {"on_bus": 8, "answer": 0, "problem": "Driver/library version mismatch"},
            "check.gpus_answer.problem",
        ),
    ],
)
def test_gpus_answer_all_or_say_why_not(gpus: dict[str, Any], code: str) -> None:
    facts = CheckFacts(hosts={"gpu01": {"gpus": gpus}})
    assert evaluate_check(RepairCheck(CheckKind.GPUS_ANSWER), facts, SINCE).code == code


@pytest.mark.parametrize(("ago", "is_ok"), [(1, True), (25, False), (None, False)])
def test_a_node_reports_again_only_since_the_repair_and_just_now(ago: int | None, is_ok: bool) -> None:
    now = SINCE + timedelta(minutes=1)
    heard = now - timedelta(seconds=ago) if ago is not None else None
    facts = CheckFacts(heartbeats={"gpu01": heard}, now=now)
    assert evaluate_check(RepairCheck(CheckKind.HEARTBEAT_FRESH), facts, SINCE).is_ok is is_ok
    assert not evaluate_check(RepairCheck(CheckKind.HEARTBEAT_FRESH), facts, now).is_ok
