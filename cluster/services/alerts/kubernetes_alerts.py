"""Lists the alerts of Kubernetes for administrators: disagreements with the queue, nodes and system workloads that
are not healthy, certificates that end."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import partial

from sqlalchemy import exists

from cluster.domain.alerts import Alert, AlertDetail, AlertTopic, AlertUrgency
from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus
from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_SOON_DAYS, soonest_certificate_end
from cluster.services.alerts.alert_counts import AlertSource
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import (
    KUBERNETES_STATUS_FACT,
    node_closed_reason,
    read_kubernetes_status,
)
from cluster.services.nodes.queries import NodeSummary, list_node_states
from cluster.store.facts import InstallationFact

CLOSED_BY_HAND_CODES = ("kubernetes.closed", "kubernetes.node_missing")
"""Codes of nodes on which nothing is broken, but which get no jobs until a person opens them."""
MAX_PER_CODE = 3
"""The largest number of disagreements of one kind."""
URGENCY = {
    "disagreement.unit_twice": AlertUrgency.BROKEN,
    "disagreement.refused": AlertUrgency.WAITING,
    "disagreement.closed_door": AlertUrgency.FAILED,
}


def kubernetes_source(cluster: Cluster) -> AlertSource:
    return AlertSource(
        lambda: exists().where(InstallationFact.name == KUBERNETES_STATUS_FACT),
        partial(kubernetes_alerts, cluster),
    )


def kubernetes_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Alerts about Kubernetes. One about a node that has no row in Groundcrew links to the list of all nodes."""
    standing = read_kubernetes_status(cluster)
    if standing is None:
        return
    nodes = list_node_states(cluster)
    ids = {node.name.lower(): node.id for node in nodes}
    yield from disagreement_alerts(standing.disagreements)
    for node in standing.nodes:
        yield from kubernetes_node_alerts(node, ids)
    for own in nodes:
        reason = node_closed_reason(standing, own.name, own.state)
        if reason and reason["code"] in CLOSED_BY_HAND_CODES:
            why = (AlertDetail(reason["code"], reason["data"]),)
            data = {"node": own.name}
            yield Alert(AlertUrgency.CAUTION, AlertTopic.NODE, "attention.kubernetes_node", own.id, data, why)
    yield from system_workload_alerts(standing)


def disagreement_alerts(found: Collection[Disagreement]) -> Iterator[Alert]:
    shown: dict[str, int] = {}
    for each in found:
        shown[each.code] = shown.get(each.code, 0) + 1
        if shown[each.code] > MAX_PER_CODE:
            continue
        urgency = URGENCY.get(each.code, AlertUrgency.CAUTION)
        if each.code == "disagreement.refused":
            yield Alert(urgency, AlertTopic.JOB, each.code, each.data["job_id"], each.data)
        else:
            yield Alert(urgency, AlertTopic.KUBERNETES, each.code, each.subject, each.data)


def kubernetes_node_alerts(node: KubernetesNodeStatus, ids: Mapping[str, int]) -> Iterator[Alert]:
    topic, subject = (
        (AlertTopic.NODE, ids[node.name]) if node.name in ids else (AlertTopic.KUBERNETES, node.name)
    )
    named = {"node": node.name}
    if node.problem is not None:
        why = (AlertDetail(node.problem["code"], node.problem["data"]),)
        yield Alert(AlertUrgency.UNREACHABLE, topic, "attention.kubernetes_node", subject, named, why)
    if node.pressures:
        data = named | {"pressures": list(node.pressures)}
        yield Alert(AlertUrgency.CAUTION, topic, "attention.node_pressed", subject, data)
    if node.watcher_silent_since is not None:
        last = (AlertDetail("attention.last_signal", {"at": node.watcher_silent_since}),)
        yield Alert(AlertUrgency.BROKEN, topic, "attention.pod_network_silent", subject, named, last)


def system_workload_alerts(standing: KubernetesStatus) -> Iterator[Alert]:
    for each in standing.operators:
        if not each.is_whole:
            data = {"name": each.name, "ready": each.ready, "wanted": each.wanted}
            yield Alert(
                AlertUrgency.FAILED, AlertTopic.KUBERNETES, "attention.operator_not_whole", each.name, data
            )


def certificate_alerts(nodes: Collection[NodeSummary], now: datetime) -> Iterator[Alert]:
    """Alerts of certificates that end soon. The masters' agents report them, also while Kubernetes itself does not
    answer.
    """
    for node in nodes:
        soonest = soonest_certificate_end(node.facts, now)
        if soonest is None or soonest[1] >= CERTIFICATES_SOON_DAYS:
            continue
        name, days = soonest
        code = "attention.certificate_ends" if days >= 0 else "attention.certificate_ended"
        details = (AlertDetail("attention.certificate_named", {"certificate": name}),)
        urgency = AlertUrgency.CAUTION if days >= 0 else AlertUrgency.BROKEN
        yield Alert(urgency, AlertTopic.NODE, code, node.id, {"node": node.name, "days": days}, details)
