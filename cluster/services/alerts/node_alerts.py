"""Lists the alerts of nodes for administrators: silent ones, broken units, full disks, failed checks of GPUs."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from sqlalchemy import exists

from cluster.domain.alerts import DISK_FULL_SHARE, Alert, AlertDetail, AlertTopic, AlertUrgency
from cluster.domain.nodes.node_facts import disk_used_share
from cluster.domain.states import NodeState, UnitState
from cluster.services.alerts.alert_counts import MAX_PER_KIND, AlertSource
from cluster.services.alerts.kubernetes_alerts import certificate_alerts
from cluster.services.context import Cluster
from cluster.services.nodes import gpu_checks
from cluster.services.nodes.list_order import is_troubled
from cluster.services.nodes.queries import NodeSummary
from cluster.services.nodes.summaries import list_troubled_nodes


def node_sources(cluster: Cluster) -> Iterator[AlertSource]:
    yield AlertSource(
        lambda: exists().where(is_troubled(cluster.clock())), partial(troubled_node_alerts, cluster)
    )
    yield AlertSource(
        lambda: exists().where(gpu_checks.has_failed_lately(cluster.clock())),
        partial(gpu_check_alerts, cluster),
    )


def troubled_node_alerts(cluster: Cluster) -> Iterator[Alert]:
    troubled = list_troubled_nodes(cluster)
    yield from node_alerts(troubled)
    yield from certificate_alerts(troubled, cluster.clock())


def node_alerts(troubled: Collection[NodeSummary]) -> Iterator[Alert]:
    for node in troubled:
        if node.state in (NodeState.UNREACHABLE, NodeState.LOST):
            is_lost = node.state is NodeState.LOST
            code = "attention.node_given_up" if is_lost else "attention.node_silent"
            yield build_node_alert(
                node, AlertUrgency.UNREACHABLE, code, details=tuple(last_known_details(node))
            )
        broken = sum(group.units for group in node.groups if group.state is UnitState.BROKEN)
        if broken:
            data = {"broken": broken, "all": node.unit_count, "kind": node.kind.value}
            yield build_node_alert(node, AlertUrgency.BROKEN, "attention.units_broken", data)
        share = disk_used_share(node.facts)
        if share is not None and share > DISK_FULL_SHARE:
            yield build_node_alert(node, AlertUrgency.CAUTION, "attention.disk_full", {"share": share})


def gpu_check_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields an alert for each newest check that did not end well. A later good check ends the alert."""
    failed = [check for check in gpu_checks.list_newest_checks(cluster) if not check.is_ok]
    for check in failed[:MAX_PER_KIND]:
        details = (AlertDetail("attention.check_said", {"line": check.lines[0]}),) if check.lines else ()
        yield Alert(
            AlertUrgency.BROKEN, AlertTopic.NODE, "attention.gpu_check_failed", check.node_id,
            {"node": check.node, "at": check.ended_at.isoformat()}, details,
        )  # fmt: skip


def build_node_alert(
    node: NodeSummary,
    urgency: AlertUrgency,
    code: str,
    data: Mapping[str, Any] | None = None,
    details: tuple[AlertDetail, ...] = (),
) -> Alert:
    return Alert(urgency, AlertTopic.NODE, code, node.id, {"node": node.name, **(data or {})}, details)


def last_known_details(node: NodeSummary) -> Iterator[AlertDetail]:
    if node.heartbeat_at:
        yield AlertDetail("attention.last_signal", {"at": node.heartbeat_at.isoformat()})
    if node.job_ids:
        yield AlertDetail("attention.booked_there", {"jobs": [f"job-{job}" for job in node.job_ids]})
