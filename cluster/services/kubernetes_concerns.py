"""What of Kubernetes needs an administrator: where it disagrees with the queue, and what of it is not well."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from cluster.domain.attention import Concern, Detail, Topic, Urgency
from cluster.domain.kube.disagreements import Disagreement
from cluster.domain.kube.remedies import CERTIFICATES_SOON_DAYS, soonest_end
from cluster.domain.kube.standing import NodeStanding, Standing
from cluster.services.context import Cluster
from cluster.services.kubernetes import read_standing
from cluster.services.nodes import NodeView

BY_HAND = ("kubernetes.closed", "kubernetes.node_missing")
"""Nothing is broken, and the node gets no jobs until somebody remembers it."""
SHOWN = 3
"""Of disagreements of one kind, which may be many."""
URGENCY = {
    "disagreement.unit_twice": Urgency.BROKEN,
    "disagreement.refused": Urgency.WAITING,
    "disagreement.closed_door": Urgency.FAILED,
}


def troubles_of_kubernetes(cluster: Cluster, nodes: Collection[NodeView]) -> Iterator[Concern]:
    """`nodes` are those of Groundcrew; what Kubernetes calls otherwise leads to the list of all."""
    yield from ending_certificates(nodes, cluster.clock())
    standing = read_standing(cluster)
    if standing is None:
        return
    ids = {node.name.lower(): node.id for node in nodes}
    yield from disagreements(standing.disagreements)
    for node in standing.nodes:
        yield from of_node(node, ids)
    for view in nodes:
        if view.kept_out and view.kept_out["code"] in BY_HAND:
            why = (Detail(view.kept_out["code"], view.kept_out["data"]),)
            data = {"node": view.name}
            yield Concern(Urgency.CAUTION, Topic.NODE, "attention.kubernetes_node", view.id, data, why)
    yield from operators(standing)


def disagreements(found: Collection[Disagreement]) -> Iterator[Concern]:
    shown: dict[str, int] = {}
    for each in found:
        shown[each.code] = shown.get(each.code, 0) + 1
        if shown[each.code] > SHOWN:
            continue
        urgency = URGENCY.get(each.code, Urgency.CAUTION)
        if each.code == "disagreement.refused":
            yield Concern(urgency, Topic.JOB, each.code, each.data["job_id"], each.data)
        else:
            yield Concern(urgency, Topic.KUBERNETES, each.code, each.subject, each.data)


def of_node(node: NodeStanding, ids: Mapping[str, int]) -> Iterator[Concern]:
    topic, subject = (Topic.NODE, ids[node.name]) if node.name in ids else (Topic.KUBERNETES, node.name)
    named = {"node": node.name}
    if node.problem is not None:
        why = (Detail(node.problem["code"], node.problem["data"]),)
        yield Concern(Urgency.UNREACHABLE, topic, "attention.kubernetes_node", subject, named, why)
    if node.pressures:
        data = named | {"pressures": list(node.pressures)}
        yield Concern(Urgency.CAUTION, topic, "attention.node_pressed", subject, data)


def operators(standing: Standing) -> Iterator[Concern]:
    for each in standing.operators:
        if not each.is_whole:
            data = {"name": each.name, "ready": each.ready, "wanted": each.wanted}
            yield Concern(Urgency.FAILED, Topic.KUBERNETES, "attention.operator_not_whole", each.name, data)


def ending_certificates(nodes: Collection[NodeView], now: datetime) -> Iterator[Concern]:
    """As the agents of the masters read them, also while Kubernetes itself is silent."""
    for node in nodes:
        soonest = soonest_end(node.facts, now)
        if soonest is None or soonest[1] >= CERTIFICATES_SOON_DAYS:
            continue
        name, days = soonest
        code = "attention.certificate_ends" if days >= 0 else "attention.certificate_ended"
        details = (Detail("attention.certificate_named", {"certificate": name}),)
        urgency = Urgency.CAUTION if days >= 0 else Urgency.BROKEN
        yield Concern(urgency, Topic.NODE, code, node.id, {"node": node.name, "days": days}, details)
