"""The status of Kubernetes and of its nodes as lines for the node pages, with the repairs that help.

Read from what the scheduler wrote down last; the portal never asks Kubernetes itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from flask import Flask

from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus, SystemWorkloadStatus
from cluster.domain.kubernetes.suggested_repairs import (
    CERTIFICATES_SOON_DAYS,
    REPAIRS_BY_CODE,
    soonest_certificate_end,
)
from cluster.domain.states import UnitKind
from cluster.services.nodes.queries import NodeSummary, find_node_ids
from portal.i18n.messages import localized_sentence, localized_word
from portal.i18n.translate import _, ngettext, now
from portal.presenters.nodes.disagreement_lines import (
    DisagreementLine,
    disagreement_line,
    kubernetes_status_of_node,
    kubernetes_status_once,
    original_message_of,
    original_messages,
    uncounted_disagreements,
)
from portal.presenters.repairs.repair_links import list_repair_links
from portal.web.request_context import current_actor, current_cluster, read_once

Repairs = list[tuple[str, str]]


@dataclass(frozen=True)
class HealthLine:
    """One line. `kind` is a state of the macros; `repairs` are titles and previews, for people who may request them."""

    label: str
    kind: str
    answer: str
    repairs: Repairs = field(default_factory=list)


@dataclass(frozen=True)
class ClusterHealth:
    status: KubernetesStatus
    system_workloads: list[HealthLine]
    lines: list[DisagreementLine]
    repairs: Repairs
    """Repairs for an API server that does not answer."""

    @property
    def disagreements(self) -> list[str]:
        return [line.sentence for line in self.lines]

    @property
    def count(self) -> int:
        """The number of disagreements, including those without a sentence of their own."""
        return self.status.count().total()

    @property
    def complete_workloads(self) -> int:
        return sum(each.is_whole for each in self.status.operators)


def init_app(app: Flask) -> None:
    app.add_template_global(node_health)
    app.add_template_global(cluster_health)
    app.add_template_global(original_messages)


def cluster_health() -> ClusterHealth | None:
    """Returns None for readers who are not administrators, and if jobs do not run on Kubernetes."""
    status = read_once(kubernetes_status_once)
    if status is None or not current_actor().is_administrator:
        return None
    disagreements = (*status.disagreements, *uncounted_disagreements(status))
    node_ids = find_node_ids(current_cluster(), {each.node for each in disagreements if each.node})
    return ClusterHealth(
        status,
        [system_workload_line(each) for each in status.operators],
        [disagreement_line(each, node_ids) for each in disagreements],
        list_repair_links(REPAIRS_BY_CODE["silent"]) if status.silent_since else [],
    )


def system_workload_line(operator: SystemWorkloadStatus) -> HealthLine:
    pods = ngettext("%(num)d pod", "%(num)d pods", operator.wanted)
    if operator.is_whole:
        return HealthLine(operator.name, "ready", pods)
    readiness = _("%(ready)s of %(pods)s ready", ready=operator.ready, pods=pods)
    return HealthLine(operator.name, "broken", readiness, list_repair_links(REPAIRS_BY_CODE["operator"]))


def node_health(node: NodeSummary) -> list[HealthLine]:
    """The lines of one node; empty if Kubernetes does not use the node."""
    status = kubernetes_status_of_node(node)
    lines = [*kubelet_lines(node, status), *node_condition_lines(node, status)] if status else []
    return [*lines, *certificate_lines(node)]


def kubelet_lines(node: NodeSummary, status: KubernetesNodeStatus) -> Iterator[HealthLine]:
    if status.problem is None:
        yield HealthLine("Kubelet", "ready", _("Reports · %(version)s", version=status.kubelet or "–"))
        yield HealthLine(_("Container engine"), "ready", status.engine.replace("://", " ") or "–")
        return
    code = status.problem["code"]
    yield HealthLine(
        _("Container engine") if code == "kubernetes.engine_down" else "Kubelet",
        "unreachable" if code == "kubernetes.node_silent" else "caution",
        " ".join([localized_sentence(code, status.problem["data"]), *original_message_of(status.problem)]),
        list_repair_links(REPAIRS_BY_CODE.get(code, ()), node.id),
    )


def node_condition_lines(node: NodeSummary, status: KubernetesNodeStatus) -> Iterator[HealthLine]:
    """The lines of a node's conditions; empty if its kubelet is silent, because they are out of date then."""
    if status.problem and status.problem["code"] == "kubernetes.node_silent":
        return
    short = [localized_word("kubernetes.resource", name) for name in status.pressures]
    remedies = [
        name for pressure in status.pressures for name in REPAIRS_BY_CODE.get(f"pressure.{pressure}", ())
    ]
    kind = "caution" if short else "ready"
    yield HealthLine(_("Runs short of"), kind, ", ".join(short) or _("nothing"), list_repair_links(remedies))
    if not status.is_open:
        closed = list_repair_links(REPAIRS_BY_CODE["kubernetes.closed"], node.id)
        yield HealthLine(_("Takes pods"), "draining", _("Closed in Kubernetes"), closed)
    elif status.problem:
        yield HealthLine(_("Takes pods"), "caution", _("Not before it is ready"))
    else:
        yield HealthLine(_("Takes pods"), "ready", _("yes"))
    if status.units or node.kind is UnitKind.GPU:
        yield HealthLine(_("GPUs offered to pods"), "ready", str(status.units))


def certificate_lines(node: NodeSummary) -> Iterator[HealthLine]:
    soonest = soonest_certificate_end(node.facts, now())
    if soonest is None:
        return
    name, days = soonest
    kind = "ready" if days >= CERTIFICATES_SOON_DAYS else "caution" if days >= 0 else "broken"
    if days >= 0:
        left = ngettext("%(num)d day", "%(num)d days", days)
        answer = _("%(name)s ends first, in %(left)s", name=name, left=left)
    else:
        answer = _("%(name)s has ended", name=name)
    repairs = [] if kind == "ready" else list_repair_links(REPAIRS_BY_CODE["certificates"], node.id)
    yield HealthLine(_("Certificates"), kind, answer, repairs)
