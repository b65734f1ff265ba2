"""The disagreements of Kubernetes with the queue as lines, and what the scheduler last read of Kubernetes.

Read from what the scheduler wrote down last; the portal never asks Kubernetes itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import url_for

from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.jobs.start_delays import StartDelay
from cluster.services.kubernetes.status import read_kubernetes_status
from cluster.services.nodes.queries import NodeSummary
from portal.i18n.messages import localized_hint, localized_sentence
from portal.i18n.translate import _
from portal.web.request_context import current_actor, read_once


@dataclass(frozen=True)
class DisagreementLine:
    """One line. `hint` says what helps, `href` leads to the job or node of the disagreement; each may be empty."""

    sentence: str
    hint: str = ""
    href: str = ""
    button: str = ""


def kubernetes_status_once(cluster: Cluster, actor: Actor) -> KubernetesStatus | None:
    return read_kubernetes_status(cluster)


def kubernetes_status_of_node(node: NodeSummary) -> KubernetesNodeStatus | None:
    status = read_once(kubernetes_status_once)
    return status.node(node.name) if status else None


def disagreement_line(disagreement: Disagreement, node_ids: Mapping[str, int]) -> DisagreementLine:
    """A disagreement about a job links to the job's page, which names the repair."""
    sentence, data = disagreement_sentence(disagreement), disagreement.data
    if "job_id" in data:
        return DisagreementLine(sentence, "", url_for("jobs.page", job_id=data["job_id"]), _("See job"))
    way = localized_hint(disagreement.code, data)
    if disagreement.node not in node_ids:
        return DisagreementLine(sentence, way)
    href = url_for("nodes.page", node_id=node_ids[disagreement.node])
    return DisagreementLine(sentence, way, href, _("See node"))


def uncounted_disagreements(status: KubernetesStatus) -> Iterator[Disagreement]:
    """Yields the disagreements that the page does not only count."""
    if count := sum(status.more.values()):
        yield Disagreement("disagreement.more", "", data={"count": count})


def disagreements_of(node: NodeSummary) -> list[str]:
    """Disagreements about pods on this node, for administrators: other people must not learn pod names."""
    status = read_once(kubernetes_status_once)
    if status is None or not current_actor().is_administrator:
        return []
    return [disagreement_sentence(each) for each in status.disagreements_of_node(node.name)]


def disagreement_sentence(disagreement: Disagreement) -> str:
    """The sentence for administrators. A message of Kubernetes that we have no words for is quoted beside it."""
    why = disagreement.data.get("why") or {}
    return " ".join([localized_sentence(disagreement.code, disagreement.data), *original_message_of(why)])


def original_messages(delay: StartDelay) -> list[str]:
    return list(original_message_of({"data": delay.data}))


def original_message_of(why: Mapping[str, Any]) -> Iterator[str]:
    original = (why.get("data") or {}).get("said")
    if original and current_actor().is_administrator:
        yield localized_sentence("kubernetes.original", {"said": original})
