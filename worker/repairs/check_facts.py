"""Reads the facts that the checks of a repair need, and evaluates the checks."""

import xmlrpc.client
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from cluster.domain.repairs.check_results import CheckFacts, CheckResult
from cluster.domain.repairs.checks import evaluate_check
from cluster.domain.repairs.definition import CheckKind, RepairCheck
from cluster.domain.states import EnvironmentState
from cluster.services.audit.seals import read_audit_status
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.services.repairs.reclaimable_files import list_reclaimable_paths
from cluster.services.repairs.stuck_operations import count_stuck_operations
from cluster.services.storage.disk_space import read_disk_usage
from cluster.store.nodes import Node
from worker.adapters.health_probes import database_problem, portal_status, redis_problem
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.supervisor import SupervisorClient
from worker.environments.manifest import is_environment_ready

BACKUP_KINDS = {CheckKind.BACKUP_MADE, CheckKind.BACKUP_RESTORED}
HostStates = Mapping[str, Mapping[str, Any] | None]


def run_checks(
    cluster: Cluster,
    checks: Iterable[RepairCheck],
    since: datetime,
    hosts: HostStates | None = None,
    names: Sequence[str] = (),
) -> list[CheckResult]:
    """In the catalogue's order; `hosts` is what was seen on those of these `names`, where a check asks for it."""
    wanted = tuple(checks)
    kinds = {check.kind for check in wanted}
    facts = replace(read_check_facts(cluster, kinds), hosts=hosts, now=cluster.clock())
    if CheckKind.HEARTBEAT_FRESH in kinds:
        facts = replace(facts, heartbeats=read_heartbeats(cluster, names))
    return [evaluate_check(check, facts, since) for check in wanted]


def read_check_facts(cluster: Cluster, kinds: set[CheckKind]) -> CheckFacts:
    found: dict[str, Any] = {}
    if kinds & BACKUP_KINDS:
        found["newest_backup"] = read_newest_backup(cluster)
    if CheckKind.SERVICES_RUNNING in kinds:
        found["services"] = read_service_starts(cluster)
    if CheckKind.NO_STUCK_OPERATIONS in kinds:
        found["stuck_operations"] = count_stuck_operations(cluster)
    if CheckKind.NO_LEFTOVERS in kinds:
        found["leftovers"] = len(list_reclaimable_paths(cluster))
    if CheckKind.DISK_FREE in kinds:
        disk = read_disk_usage(cluster.settings.state_dir)
        found.update(free_bytes=disk.free, total_bytes=disk.total)
    if CheckKind.PORTAL_ANSWERS in kinds:
        found["portal_status"] = portal_status(cluster.settings)
    if CheckKind.REDIS_ANSWERS in kinds:
        found["redis_problem"] = redis_problem(cluster.settings)
    if CheckKind.DATABASE_ANSWERS in kinds:
        found["database_problem"] = database_problem(cluster.settings)
    if CheckKind.ENVIRONMENT_STANDS in kinds:
        found["environment_problem"] = environment_problem(cluster)
    if CheckKind.AUDIT_WHOLE in kinds:
        found.update(read_audit_facts(cluster))
    return CheckFacts(**found)


def read_heartbeats(cluster: Cluster, names: Sequence[str]) -> dict[str, datetime | None]:
    with cluster.store.read() as session:
        rows = session.execute(select(Node.name, Node.heartbeat_at).where(Node.name.in_(names))).tuples()
        return dict.fromkeys(names) | dict(rows.all())


def environment_problem(cluster: Cluster) -> str:
    """Where the default training environment should be and is not; empty where it stands."""
    known = read_default_environment(cluster)
    if known is None or known.state is not EnvironmentState.READY:
        return known.path if known and known.path else "-"
    return "" if is_environment_ready(Path(known.path)) else known.path


def read_audit_facts(cluster: Cluster) -> dict[str, Any]:
    standing = read_audit_status(cluster)
    code = standing.violation.code if standing.violation else ""
    return {
        "audit_checked_at": standing.checked_at,
        "audit_entries": standing.checked,
        "audit_code": code,
    }


def read_newest_backup(cluster: Cluster) -> dict[str, Any] | None:
    backups = read_backups(cluster.settings.backups)
    if not backups:
        return None
    newest = backups[0]
    return {
        "name": newest.name,
        "made_at": newest.made_at,
        "restored_at": newest.restored_at,
        "rows": newest.total_rows,
        "problem": newest.problem and asdict(newest.problem),
    }


def read_service_starts(cluster: Cluster) -> dict[str, datetime | None]:
    """As the process manager of the embedded set knows them; empty where it does not answer."""
    places = InstallationPaths(
        clone=cluster.settings.state_dir,
        state_dir=cluster.settings.state_dir,
        cache_dir=cluster.settings.cache_dir,
    )
    try:
        processes = SupervisorClient(places).list_services()
    except (OSError, xmlrpc.client.Error):
        return {}
    return {
        each.name: datetime.fromtimestamp(each.started_at, UTC) if each.state == "RUNNING" else None
        for each in processes
    }
