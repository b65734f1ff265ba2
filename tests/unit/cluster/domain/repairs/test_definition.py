"""Repairs as values: what a file of the catalogue may say, what events come to, what checks decide."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.domain.errors import Refused
from cluster.domain.repairs.check_results import CheckFacts
from cluster.domain.repairs.checks import evaluate_check
from cluster.domain.repairs.definition import (
    CatalogueInvalid,
    CheckKind,
    Repair,
    RepairCheck,
    check_inventory_host,
    check_nodes_drained,
    check_reason,
    check_try_first,
    check_typed_name,
    parse_repair,
    typical_seconds,
)

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
PLAYBOOK = [{"tasks": [{"name": "Stop it"}, {"name": "Start it"}]}]


def a_document(**changed: Any) -> dict[str, Any]:
    return {
        "title": {"en": "Restart it", "ko": "다시 시작"},
        "text": {"en": "Stops and starts.", "ko": "멈추고 시작."},
        "group": "mend",
        "installations": ["embedded"],
        "jobs": "go_on",
        "timeout": 60,
        "undo": {"en": "No", "ko": "안 됨"},
        "checks": [{"kind": "disk_free", "share": 0.1}],
        "korean": {"Stop it": "멈추기", "Start it": "시작하기"},
    } | changed


def a_repair(**changed: Any) -> Repair:
    return parse_repair("restart-it", a_document(**changed), PLAYBOOK)


def test_a_repair_knows_its_playbooks_tasks_in_both_languages() -> None:
    assert [(task.en, task.ko) for task in a_repair().tasks] == [
        ("Stop it", "멈추기"),
        ("Start it", "시작하기"),
    ]


@pytest.mark.parametrize(
    "broken",
    [
        {"group": "wild"},
        {"jobs": "vanish"},
        {"title": {"en": "Restart it"}},
        {"title": {"en": "Restart it", "ko": " "}},
        {"checks": [{"kind": "looks_fine"}]},
        {"checks": None},
        {"korean": {"Stop it": "멈추기"}},
        {"timeout": "soon"},
        {"become": True},
    ],
    ids=lambda broken: next(iter(broken)),
)
def test_a_file_that_says_anything_else_is_refused_by_name(broken: dict[str, Any]) -> None:
    with pytest.raises(CatalogueInvalid) as refused:
        a_repair(**broken)
    assert refused.value.data["file"] == "ansible/repairs/restart-it.yml"


@pytest.mark.parametrize("name", ["../site", "Site", "a--b", "", "a b"])
def test_a_repair_has_a_plain_name(name: str) -> None:
    with pytest.raises(CatalogueInvalid):
        parse_repair(name, a_document(), PLAYBOOK)


def test_tasks_without_a_name_of_their_own_are_refused() -> None:
    twice = [{"tasks": [{"name": "Stop it"}, {"name": "Stop it"}]}]
    for playbook in (twice, [{"tasks": [{"command": "true"}]}], [], "text"):
        with pytest.raises(CatalogueInvalid):
            parse_repair("restart-it", a_document(), playbook)


def test_a_gentler_way_exists() -> None:
    with pytest.raises(CatalogueInvalid):
        check_try_first(a_repair(gentler=["pray"]), ["restart-it"])


def test_a_reason_is_needed_and_made_one_line() -> None:
    assert check_reason("  the disk\n is full ") == "the disk is full"
    for wrong in ("", " \n", "x" * 501, "\0", "\x1b[2J", "\ud800"):
        with pytest.raises(Refused):
            check_reason(wrong)


def test_busy_nodes_stop_only_a_repair_that_needs_them_empty() -> None:
    check_nodes_drained(a_repair(), ["gpu07"])
    needy = replace(a_repair(), needs_drained_nodes=True)
    check_nodes_drained(needy, [])
    with pytest.raises(Refused) as refused:
        check_nodes_drained(needy, ["gpu07"])
    assert (refused.value.code, refused.value.data) == ("repair.not_drained", {"names": ["gpu07"]})


def test_only_the_dangerous_wants_the_name_typed() -> None:
    check_typed_name(a_repair(), "", "gpu07")
    check_typed_name(a_repair(group="dangerous"), " gpu07 ", "gpu07")
    with pytest.raises(Refused) as refused:
        check_typed_name(a_repair(group="dangerous"), "gpu01", "gpu07")
    assert refused.value.data == {"typed": "gpu01", "name": "gpu07"}


@pytest.mark.parametrize(
    "name", ["{{ lookup('pipe', 'touch /tmp/pwn') }}", "a b", "-oProxyCommand=x", "", "a/b"]
)
def test_a_host_that_ansible_could_read_otherwise_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        check_inventory_host(name)


def test_the_middle_of_the_last_runs_is_what_it_takes() -> None:
    assert (typical_seconds([9.0, 3.0, 4.0]), typical_seconds([])) == (4.0, None)


def test_a_service_that_started_within_the_second_of_the_run_is_a_new_one() -> None:
    check = RepairCheck(CheckKind.SERVICES_RUNNING, SERVICES)
    facts = CheckFacts(services={"tasks-general": NOW})
    assert evaluate_check(check, facts, NOW + timedelta(milliseconds=900)).is_ok
    assert not evaluate_check(check, facts, NOW + timedelta(seconds=1)).is_ok


def a_backup(**changed: Any) -> dict[str, Any]:
    made = {"name": "b", "made_at": NOW, "restored_at": NOW, "rows": 7, "problem": None}
    return made | changed


OLD = NOW - timedelta(hours=1)
SERVICES = {"services": ["tasks-general"], "restarted": True}


@pytest.mark.parametrize(
    ("kind", "options", "facts", "code"),
    [
        ("backup_made", {}, CheckFacts(), "check.backup_made.none"),
        ("backup_made", {}, CheckFacts(newest_backup=a_backup(made_at=OLD)), "check.backup_made.old"),
        ("backup_made", {}, CheckFacts(newest_backup=a_backup()), "check.backup_made.ok"),
        ("backup_restored", {}, CheckFacts(), "check.backup_made.none"),
        (
            "backup_restored",
            {},
            CheckFacts(newest_backup=a_backup(restored_at=None)),
            "check.backup_restored.never",
        ),
        (
            "backup_restored",
            {},
            CheckFacts(newest_backup=a_backup(restored_at=OLD)),
            "check.backup_restored.never",
        ),
        (
            "backup_restored",
            {},
            CheckFacts(newest_backup=a_backup(problem={"code": "broken.cut", "data": {}})),
            "check.backup_restored.problem",
        ),
        ("backup_restored", {}, CheckFacts(newest_backup=a_backup()), "check.backup_restored.ok"),
        ("services_running", SERVICES, CheckFacts(services={}), "check.services_running.not"),
        (
            "services_running",
            SERVICES,
            CheckFacts(services={"tasks-general": None}),
            "check.services_running.not",
        ),
        (
            "services_running",
            SERVICES,
            CheckFacts(services={"tasks-general": OLD}),
            "check.services_running.old",
        ),
        (
            "services_running",
            SERVICES,
            CheckFacts(services={"tasks-general": NOW}),
            "check.services_running.ok",
        ),
        ("no_stuck_operations", {}, CheckFacts(stuck_operations=2), "check.no_stuck_operations.not"),
        ("no_stuck_operations", {}, CheckFacts(), "check.no_stuck_operations.ok"),
        ("no_leftovers", {}, CheckFacts(leftovers=1), "check.no_leftovers.not"),
        ("no_leftovers", {}, CheckFacts(), "check.no_leftovers.ok"),
        ("disk_free", {"share": 0.1}, CheckFacts(free_bytes=9, total_bytes=100), "check.disk_free.not"),
        ("disk_free", {"share": 0.1}, CheckFacts(free_bytes=10, total_bytes=100), "check.disk_free.ok"),
        ("portal_answers", {}, CheckFacts(portal_status=503), "check.portal_answers.not"),
        ("portal_answers", {}, CheckFacts(portal_status=200), "check.portal_answers.ok"),
    ],
)
def test_each_check_decides_by_facts(
    kind: str, options: dict[str, Any], facts: CheckFacts, code: str
) -> None:
    answer = evaluate_check(RepairCheck(CheckKind(kind), options), facts, NOW)
    assert (answer.code, answer.is_ok) == (code, code.endswith(".ok"))
