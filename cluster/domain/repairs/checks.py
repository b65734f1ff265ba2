"""Evaluate each check of a repair from the facts that were read. The result is a code with data."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cluster.domain.repairs import kubernetes_checks
from cluster.domain.repairs.check_results import CheckFacts, CheckResult, passed_on_hosts
from cluster.domain.repairs.definition import CheckKind, RepairCheck

DAY = 86_400
HEARTBEAT_WITHIN = timedelta(seconds=20)


def evaluate_check(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """Evaluates the check. Anything that was made, verified or started before `since` does not count."""
    return EVALUATORS[check.kind](check, facts, since)


def backup_made(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    backup = facts.newest_backup
    if backup is None:
        return CheckResult(False, "check.backup_made.none", {})
    data = {"name": backup["name"], "at": backup["made_at"].isoformat(), "rows": backup["rows"]}
    if backup["made_at"] < since:
        return CheckResult(False, "check.backup_made.old", data)
    return CheckResult(True, "check.backup_made.ok", data)


def backup_restored(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    backup = facts.newest_backup
    if backup is None:
        return CheckResult(False, "check.backup_made.none", {})
    data = {"name": backup["name"], "rows": backup["rows"]}
    if backup["problem"]:
        return CheckResult(False, "check.backup_restored.problem", {**data, "problem": backup["problem"]})
    restored_at = backup["restored_at"]
    if restored_at is None or restored_at < since:
        return CheckResult(False, "check.backup_restored.never", data)
    return CheckResult(True, "check.backup_restored.ok", {**data, "at": restored_at.isoformat()})


def services_running(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """If `restarted` is set, the services must have started after `since`."""
    services = facts.services or {}
    names = [str(name) for name in check.options["services"]]
    missing = [name for name in names if services.get(name) is None]
    if missing:
        return CheckResult(False, "check.services_running.not", {"names": missing})
    if check.options.get("restarted"):
        # The process manager reports whole seconds.
        whole = since.replace(microsecond=0)
        old = [name for name in names if (services[name] or whole) < whole]
        if old:
            return CheckResult(False, "check.services_running.old", {"names": old})
    return CheckResult(True, "check.services_running.ok", {"names": names})


def no_stuck_operations(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    count = facts.stuck_operations
    if count:
        return CheckResult(False, "check.no_stuck_operations.not", {"operations": count})
    return CheckResult(True, "check.no_stuck_operations.ok", {})


def no_leftovers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    if facts.leftovers:
        return CheckResult(False, "check.no_leftovers.not", {"entries": facts.leftovers})
    return CheckResult(True, "check.no_leftovers.ok", {})


def disk_free(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """`share` is the share of the disk that has to be free, 0 to 1."""
    share = facts.free_bytes / facts.total_bytes if facts.total_bytes else 0.0
    data = {"free": facts.free_bytes, "share": round(share, 3), "wanted": float(check.options["share"])}
    is_ok = share >= float(check.options["share"])
    return CheckResult(is_ok, "check.disk_free.ok" if is_ok else "check.disk_free.not", data)


def portal_answers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    is_ok = facts.portal_status == 200
    data = {"status": facts.portal_status}
    return CheckResult(is_ok, "check.portal_answers.ok" if is_ok else "check.portal_answers.not", data)


def redis_answers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    if facts.redis_problem:
        return CheckResult(False, "check.redis_answers.not", {"problem": facts.redis_problem})
    return CheckResult(True, "check.redis_answers.ok", {})


def database_answers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    if facts.database_problem:
        return CheckResult(False, "check.database_answers.not", {"problem": facts.database_problem})
    return CheckResult(True, "check.database_answers.ok", {})


def audit_whole(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    at = facts.audit_checked_at
    if at is None or at < since:
        return CheckResult(False, "check.audit_whole.never", {})
    data = {"at": at.isoformat(), "entries": facts.audit_entries}
    return CheckResult(
        not facts.audit_code, "check.audit_whole.not" if facts.audit_code else "check.audit_whole.ok", data
    )


def units_running(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """The units must be loaded, unmasked, active and enabled. With `restarted` they must have become active after
    `since`.
    """
    names = [str(name) for name in check.options["units"]]
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        wrong = [name for name in names if not is_enabled_and_active(seen["units"].get(name) or {})]
        if wrong:
            return CheckResult(False, "check.units_running.not", {"host": host, "names": wrong})
        begun = since.timestamp() if check.options.get("restarted") else 0
        old = [name for name in names if seen["units"][name]["since"] < begun]
        if old:
            return CheckResult(False, "check.units_running.old", {"host": host, "names": old})
    return passed_on_hosts(facts, "check.units_running.ok", {"names": names})


def is_enabled_and_active(unit: Mapping[str, Any]) -> bool:
    is_enabled = unit.get("enabled") in ("enabled", "static", "indirect", "generated", "alias")
    return unit.get("load") == "loaded" and unit.get("active") == "active" and is_enabled


def endpoint_answers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    door = str(check.options["door"])
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        if seen["doors"].get(door) != 200:
            return CheckResult(False, "check.door_answers.not", {"host": host, "door": door})
    return passed_on_hosts(facts, "check.door_answers.ok", {"door": door})


def site_answers(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        if seen["site"]["status"] != 200:
            return CheckResult(False, "check.site_answers.not", {"host": host})
    return passed_on_hosts(facts, "check.site_answers.ok", {})


def certificate_lasts(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """`days` is how much longer the site's certificate has to be valid."""
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        left = seen["site"]["seconds_left"]
        if left is None:
            return CheckResult(False, "check.site_answers.not", {"host": host})
        if left < int(check.options["days"]) * DAY:
            return CheckResult(False, "check.certificate_lasts.not", {"days": int(left // DAY)})
    return passed_on_hosts(facts, "check.certificate_lasts.ok", {"days": int(check.options["days"])})


def host_started(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        if seen["started"] < since.timestamp():
            return CheckResult(False, "check.host_started.not", {"host": host})
    return passed_on_hosts(facts, "check.host_started.ok", {})


def gpus_answer(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        gpus = seen["gpus"]
        if gpus["problem"]:
            return CheckResult(False, "check.gpus_answer.problem", {"host": host, "problem": gpus["problem"]})
        if gpus["answer"] < gpus["on_bus"]:
            return CheckResult(False, "check.gpus_answer.not", {"host": host, **gpus})
    return passed_on_hosts(facts, "check.gpus_answer.ok", {})


def heartbeat_fresh(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    """The host must have reported since the playbook began, and within the last seconds."""
    assert facts.now is not None
    least = max(since, facts.now - HEARTBEAT_WITHIN)
    silent = [host for host, at in (facts.heartbeats or {}).items() if at is None or at < least]
    if silent or not facts.heartbeats:
        return CheckResult(False, "check.heartbeat_fresh.not", {"names": silent})
    return CheckResult(True, "check.heartbeat_fresh.ok", {"names": list(facts.heartbeats)})


def environment_stands(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    if facts.environment_problem:
        return CheckResult(False, "check.environment_stands.not", {"path": facts.environment_problem})
    return CheckResult(True, "check.environment_stands.ok", {})


def images_stand(check: RepairCheck, facts: CheckFacts, since: datetime) -> CheckResult:
    for host, seen in (facts.hosts or {}).items():
        if seen is None:
            return CheckResult(False, "check.host.silent", {"host": host})
        images = seen["images"]
        if images["problem"]:
            return CheckResult(False, "check.images_stand.problem", {"problem": images["problem"]})
        if images["missing"]:
            return CheckResult(False, "check.images_stand.not", {"names": images["missing"]})
    return CheckResult(bool(facts.hosts), "check.images_stand.ok", {})


EVALUATORS = {
    CheckKind.BACKUP_MADE: backup_made,
    CheckKind.BACKUP_RESTORED: backup_restored,
    CheckKind.SERVICES_RUNNING: services_running,
    CheckKind.NO_STUCK_OPERATIONS: no_stuck_operations,
    CheckKind.NO_LEFTOVERS: no_leftovers,
    CheckKind.DISK_FREE: disk_free,
    CheckKind.PORTAL_ANSWERS: portal_answers,
    CheckKind.REDIS_ANSWERS: redis_answers,
    CheckKind.DATABASE_ANSWERS: database_answers,
    CheckKind.AUDIT_WHOLE: audit_whole,
    CheckKind.UNITS_RUNNING: units_running,
    CheckKind.ENDPOINT_ANSWERS: endpoint_answers,
    CheckKind.SITE_ANSWERS: site_answers,
    CheckKind.CERTIFICATE_LASTS: certificate_lasts,
    CheckKind.HOST_STARTED: host_started,
    CheckKind.GPUS_ANSWER: gpus_answer,
    CheckKind.HEARTBEAT_FRESH: heartbeat_fresh,
    CheckKind.ENVIRONMENT_STANDS: environment_stands,
    CheckKind.CONTROL_PLANE_ANSWERS: kubernetes_checks.control_plane_answers,
    CheckKind.CONTROL_CERTIFICATES_LAST: kubernetes_checks.control_certificates_last,
    CheckKind.WORKLOADS_READY: kubernetes_checks.workloads_ready,
    CheckKind.NODE_READY: kubernetes_checks.node_ready,
    CheckKind.PODS_NETWORKED: kubernetes_checks.pods_networked,
    CheckKind.IMAGES_STAND: images_stand,
}
