"""Requests the checks of each node's GPUs once a night, by the same repairs that people start with a button."""

from datetime import datetime, time

import structlog
from sqlalchemy import select

from cluster.domain.backups.schedule import due_night, last_due
from cluster.domain.errors import GroundcrewError
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.nodes.gpu_checks import CHECK_NODE, MULTIPLY
from cluster.services.people.users import service_actor
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.services.repairs.previews import preview_repair
from cluster.services.repairs.repair_runs import request_repair
from cluster.store.facts import InstallationFact
from cluster.store.nodes import HAS_REAL_GPUS, Node
from cluster.store.repairs import RepairRun

log = structlog.get_logger()

NIGHTLY_FACT = "gpu_check_nightly"
DEFAULT_TIME = time(3, 30)
"""The time at which the checks begin if no time of backups is set."""
REASON = "Nightly · 야간 점검"


def request_nightly_checks(cluster: Cluster, held: HeldLease) -> list[RepairRun]:
    """Requests the checks of each node with real GPUs once per night; a new installation begins with its first night.

    A node on which another repair works is left out until the next night. Raises LeaseLost.
    """
    settings, now = cluster.settings, cluster.clock()
    at = settings.backup_at or DEFAULT_TIME
    with cluster.store.read() as session:
        known = session.get(InstallationFact, NIGHTLY_FACT)
    if known is not None:
        asked_for = datetime.fromisoformat(known.value["night"])
        if due_night(now, settings.zone, at, asked_for) is None:
            return []
    night = last_due(now, settings.zone, at)
    with cluster.store.write() as session:
        check_lease(session, held)
        session.merge(InstallationFact(name=NIGHTLY_FACT, value={"night": night.isoformat()}))
    return request_checks(cluster) if known is not None else []


def request_checks(cluster: Cluster) -> list[RepairRun]:
    with cluster.store.read() as session:
        nodes = list(session.scalars(select(Node.id).where(HAS_REAL_GPUS).order_by(Node.name)))
    if not nodes:
        return []
    offered = list_offered_repairs(cluster)
    wanted = [(CHECK_NODE, [node]) for node in nodes] if CHECK_NODE in offered else []
    if MULTIPLY in offered and not cluster.settings.executor.capabilities.has_environment_in_image:
        wanted.append((MULTIPLY, []))
    requested = (request_check(cluster, name, targets) for name, targets in wanted)
    return [run for run in requested if run is not None]


def request_check(cluster: Cluster, name: str, nodes: list[int]) -> RepairRun | None:
    actor = service_actor(cluster)
    try:
        preview = preview_repair(cluster, actor, name, nodes)
        return request_repair(cluster, actor, name, preview.etag, REASON, node_ids=nodes)
    except GroundcrewError as error:
        log.info("a nightly check is left out", check=name, nodes=nodes, code=error.code)
        return None
