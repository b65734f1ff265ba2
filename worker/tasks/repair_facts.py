"""Reads what a verification asks for, and nothing else."""

import xmlrpc.client
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any

from sqlalchemy import select

from cluster.domain.repair_answers import Answer, Facts
from cluster.domain.repair_checks import judge
from cluster.domain.repairs import Check, CheckKind
from cluster.domain.states import EnvironmentState
from cluster.services.audit_seals import read_standing
from cluster.services.backups import read_backups
from cluster.services.context import Cluster
from cluster.services.disks import disk_of
from cluster.services.environments import read_default_environment
from cluster.services.repair_progress import count_stuck
from cluster.services.spare_files import list_leftovers
from cluster.store.nodes import Node
from worker.adapters.reachable import database_problem, portal_status, redis_problem
from worker.embedded.places import Places
from worker.embedded.services import Supervisor
from worker.environments.ready import is_ready

BACKUP_KINDS = {CheckKind.BACKUP_MADE, CheckKind.BACKUP_RESTORED}
Seen = Mapping[str, Mapping[str, Any] | None]


def run_checks(
    cluster: Cluster,
    checks: Iterable[Check],
    since: datetime,
    hosts: Seen | None = None,
    names: Sequence[str] = (),
) -> list[Answer]:
    """In the catalogue's order; `hosts` is what was seen on those of these `names`, where a check asks for it."""
    wanted = tuple(checks)
    kinds = {check.kind for check in wanted}
    facts = replace(read_facts(cluster, kinds), hosts=hosts, now=cluster.clock())
    if CheckKind.HEARTBEAT_FRESH in kinds:
        facts = replace(facts, heartbeats=read_heartbeats(cluster, names))
    return [judge(check, facts, since) for check in wanted]


def read_facts(cluster: Cluster, kinds: set[CheckKind]) -> Facts:
    found: dict[str, Any] = {}
    if kinds & BACKUP_KINDS:
        found["newest_backup"] = newest_backup(cluster)
    if CheckKind.SERVICES_RUNNING in kinds:
        found["services"] = running_services(cluster)
    if CheckKind.NO_STUCK_OPERATIONS in kinds:
        found["stuck_operations"] = count_stuck(cluster)
    if CheckKind.NO_LEFTOVERS in kinds:
        found["leftovers"] = len(list_leftovers(cluster))
    if CheckKind.DISK_FREE in kinds:
        disk = disk_of(cluster.settings.state_dir)
        found.update(free_bytes=disk.free, whole_bytes=disk.whole)
    if CheckKind.PORTAL_ANSWERS in kinds:
        found["portal_status"] = portal_status(cluster.settings)
    if CheckKind.REDIS_ANSWERS in kinds:
        found["redis_problem"] = redis_problem(cluster.settings)
    if CheckKind.DATABASE_ANSWERS in kinds:
        found["database_problem"] = database_problem(cluster.settings)
    if CheckKind.ENVIRONMENT_STANDS in kinds:
        found["environment_problem"] = environment_problem(cluster)
    if CheckKind.AUDIT_WHOLE in kinds:
        found.update(audit_facts(cluster))
    return Facts(**found)


def read_heartbeats(cluster: Cluster, names: Sequence[str]) -> dict[str, datetime | None]:
    with cluster.store.read() as session:
        rows = session.execute(select(Node.name, Node.heartbeat_at).where(Node.name.in_(names))).tuples()
        return dict.fromkeys(names) | dict(rows.all())


def environment_problem(cluster: Cluster) -> str:
    """Where the default training environment should be and is not; empty where it stands."""
    known = read_default_environment(cluster)
    if known is None or known.state is not EnvironmentState.READY:
        return known.path if known and known.path else "-"
    return "" if is_ready(Path(known.path)) else known.path


def audit_facts(cluster: Cluster) -> dict[str, Any]:
    standing = read_standing(cluster)
    code = standing.found.code if standing.found else ""
    return {
        "audit_checked_at": standing.checked_at,
        "audit_entries": standing.checked,
        "audit_code": code,
    }


def newest_backup(cluster: Cluster) -> dict[str, Any] | None:
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


def running_services(cluster: Cluster) -> dict[str, datetime | None]:
    """As the process manager of the embedded set knows them; empty where it does not answer."""
    places = Places(
        clone=cluster.settings.state_dir, state=cluster.settings.state_dir, cache=cluster.settings.cache_dir
    )
    try:
        processes = Supervisor(places).processes()
    except (OSError, HTTPException, xmlrpc.client.Error):
        return {}
    return {
        each.name: datetime.fromtimestamp(each.since, UTC) if each.state == "RUNNING" else None
        for each in processes
    }
