"""Reads the facts that the checks of a repair need, of hosts by a playbook that changes nothing, and evaluates the
checks.
"""

import time
import uuid
import xmlrpc.client
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from cluster.domain.repairs.check_results import CheckFacts, CheckResult
from cluster.domain.repairs.checks import evaluate_check
from cluster.domain.repairs.definition import HOST_CHECKS, CheckKind, RepairCheck
from cluster.domain.states import EnvironmentState
from cluster.services.audit.seals import read_audit_status
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.services.repairs.catalogue import CatalogueEntry
from cluster.services.repairs.reclaimable_files import list_reclaimable_paths
from cluster.services.repairs.stuck_operations import count_stuck_operations
from cluster.services.storage.disk_space import read_disk_usage
from cluster.store.nodes import Node
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.health_probes import database_problem, portal_status, redis_problem
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.supervisor_client import SupervisorClient
from worker.environments.manifest import is_environment_ready
from worker.repairs.broker_protocol import PROBE_TIMEOUT
from worker.repairs.playbook_runs import delete_run_folder_of, start_probe

BACKUP_KINDS = {CheckKind.BACKUP_MADE, CheckKind.BACKUP_RESTORED}
PROBE_TASK = "Look at what the checks ask for"
CLUSTER_PROBE_TASK = "Look at the node and its cluster"
HostStates = Mapping[str, Mapping[str, Any] | None]
"""The facts by host. None for a host that was not reached."""


def run_checks(
    cluster: Cluster, entry: CatalogueEntry, run: RepairRun, since: datetime, is_database_away: bool = False
) -> list[CheckResult]:
    """Probes the run's hosts and evaluates the checks of its repair, in the catalogue's order. Raises Unavailable."""
    hosts = probe_hosts(cluster, entry, run)
    evaluate = evaluate_without_database if is_database_away else evaluate_checks
    return evaluate(cluster, entry.repair.checks, since, hosts, run.hosts)


def evaluate_without_database(
    cluster: Cluster,
    checks: Iterable[RepairCheck],
    since: datetime,
    hosts: HostStates | None,
    names: Sequence[str],
) -> list[CheckResult]:
    """Evaluates the checks one by one. Those that need the database are red and say that it was not read."""
    found = []
    for check in checks:
        try:
            found += evaluate_checks(cluster, [check], since, hosts, names)
        except SQLAlchemyError:
            found.append(CheckResult(False, "check.not_read", {}))
    return found


def evaluate_checks(
    cluster: Cluster,
    checks: Iterable[RepairCheck],
    since: datetime,
    hosts: HostStates | None,
    names: Sequence[str],
) -> list[CheckResult]:
    """Evaluates the checks in their order, with facts of one moment. `names` are the hosts of the run."""
    wanted = tuple(checks)
    kinds = {check.kind for check in wanted}
    facts = replace(read_check_facts(cluster, kinds), hosts=hosts, now=cluster.clock())
    if CheckKind.HEARTBEAT_FRESH in kinds:
        facts = replace(facts, heartbeats=read_heartbeats(cluster, names))
    return [evaluate_check(check, facts, since) for check in wanted]


def probe_hosts(cluster: Cluster, entry: CatalogueEntry, run: RepairRun) -> HostStates | None:
    """The facts by host; None for a host that was not reached. The result is None if no check needs hosts. Raises
    Unavailable.
    """
    settings = cluster.settings
    asks = any(check.kind in HOST_CHECKS for check in entry.repair.checks)
    if not asks or settings.ansible_dir is None or settings.ansible_programs is None:
        return None
    folder = settings.state_dir / "repairs" / str(uuid.uuid4().int % 10**15 + 10**15)
    start_probe(cluster, entry, run, folder)
    seen = read_probe(folder, run.hosts)
    delete_run_folder_of(cluster, folder)
    return seen


def read_probe(folder: Path, hosts: Iterable[str]) -> HostStates:
    deadline = time.monotonic() + 2 * PROBE_TIMEOUT
    while playbooks.read_playbook_end(folder) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    seen: dict[str, Any] = dict.fromkeys(hosts)
    for event in playbooks.EventReader(folder).read_new_events():
        data = event.get("event_data") or {}
        if event.get("event") != "runner_on_ok":
            continue
        host = str(data.get("host"))
        if data.get("task") == PROBE_TASK:
            seen[host] = with_local_times(data["res"], datetime.fromisoformat(event["created"]).timestamp())
        elif data.get("task") == CLUSTER_PROBE_TASK and seen.get(host):
            seen[host] = {**seen[host], "kubernetes": data["res"]["kubernetes"]}
    return seen


def with_local_times(state: Mapping[str, Any], told_at: float) -> dict[str, Any]:
    """When each unit and the host started, in seconds since 1970; 0 if it does not run.

    A host's clock may differ from ours. It therefore reports ages, which are subtracted from the time at which we
    received them.
    """

    def since(age: float | None) -> float:
        return 0.0 if age is None else told_at - age

    units = {name: {**unit, "since": since(unit["age"])} for name, unit in state["units"].items()}
    return {**state, "units": units, "started": since(state["age"])}


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
    """The path of the default training environment if nothing is there, or `-` if no path is known; else empty."""
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
    """The start times of the services of `make up`. Empty if the process manager does not answer."""
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
