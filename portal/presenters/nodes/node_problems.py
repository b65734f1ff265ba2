"""Describes the problem of a node that is not ready: facts, suggestions and repairs, for its row and its page."""

from dataclasses import dataclass, field
from datetime import timedelta

from flask import Flask, url_for
from markupsafe import Markup

from cluster.domain.kubernetes.suggested_repairs import REPAIRS_BY_CODE
from cluster.domain.states import NodeState
from cluster.services.nodes.queries import NodeSummary
from portal.i18n.messages import localized_sentence, localized_word
from portal.i18n.translate import _, localized_duration, now, time_of_age, time_of_datetime
from portal.presenters.nodes.disagreement_lines import disagreements_of, kubernetes_status_of_node
from portal.presenters.repairs.repair_links import list_repair_links
from portal.web.request_context import current_actor, current_cluster

Line = tuple[str, str | Markup]
BESIDE = Markup("{} · {}")
FOR_SILENT_NODES = ("restart-worker-agent", "reconnect-node", "reboot-node")


@dataclass(frozen=True)
class NodeProblem:
    """The problem of one node. `kind` is its gravity (as in `notice`); `facts` are pairs of question and answer."""

    kind: str
    title: str
    sentence: str
    facts: list[Line] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    undrain_url: str | None = None
    """The address at which the reader can open a drained node again; None if the reader may not."""
    repairs: list[tuple[str, str]] = field(default_factory=list)
    """Titles and previews of repairs that help, the gentlest first, for administrators."""
    further_sentences: list[str] = field(default_factory=list)
    """Further sentences, each complete in itself."""


def init_app(app: Flask) -> None:
    app.add_template_global(problem_of_node)
    app.add_template_global(may_drain)
    app.add_template_global(may_forget)


def may_drain() -> bool:
    return current_actor().is_administrator


def may_forget(node: NodeSummary) -> bool:
    """Whether the node may be forgotten: the reader is an administrator, and the node is drained or silent."""
    is_out = node.node.draining_since is not None
    return may_drain() and (is_out or node.state in (NodeState.UNREACHABLE, NodeState.LOST))


def problem_of_node(node: NodeSummary) -> NodeProblem | None:
    """Returns None for a node that is ready and takes jobs."""
    make = {
        NodeState.UNREACHABLE: unreachable_problem,
        NodeState.LOST: lost_problem,
        NodeState.DRAINING: draining_problem,
        NodeState.NO_EXECUTOR: no_executor_problem,
    }.get(node.state)
    return make(node) if make else kubernetes_problem(node)


def node_problem_title(node: NodeSummary) -> str:
    return f"{node.name} · {localized_word('state.node', node.state.value)}"


def unreachable_problem(node: NodeSummary) -> NodeProblem:
    facts = [*heartbeat_facts(node), *booked_job_facts(node, _("stays booked"))]
    if node.heartbeat_at is not None:
        grace = timedelta(seconds=current_cluster().settings.node_grace_seconds)
        left = (node.heartbeat_at + grace - now()).total_seconds()
        facts.append(
            (_("Given up"), _("in %(time)s", time=localized_duration(left)) if left > 0 else _("now"))
        )
    return NodeProblem(
        "caution",
        node_problem_title(node),
        _("Its agent does not answer. What is booked stays booked, nothing new starts there."),
        facts + drain_facts(node),
        [
            _("Look whether the machine is on and its agent runs; it comes back by itself."),
            _("Once it is given up, its jobs go on elsewhere from their last checkpoint."),
        ],
        undrain_url(node),
        repairs_for_silent_node(node),
    )


def lost_problem(node: NodeSummary) -> NodeProblem:
    return NodeProblem(
        "fault",
        node_problem_title(node),
        _("It was silent for too long and has been given up: its jobs wait again or run elsewhere."),
        [*heartbeat_facts(node), *booked_job_facts(node, _("being taken away")), *drain_facts(node)],
        [
            _("Look whether the machine is on, its network is there and its agent runs."),
            _("When it answers, what still runs there is ended first; then it takes jobs again by itself."),
        ],
        undrain_url(node),
        repairs_for_silent_node(node),
    )


def draining_problem(node: NodeSummary) -> NodeProblem:
    held = bool(node.job_ids)
    sentence = _("Nothing new starts here; what runs goes on to its end.")
    return NodeProblem(
        "info",
        node_problem_title(node),
        sentence if held else _("Nothing new starts here, and nothing runs any more: it can be worked on."),
        [*drain_facts(node), *booked_job_facts(node, _("ends by itself"))],
        [] if undrain_url(node) else [_("An administrator opens it again.")],
        undrain_url(node),
    )


def no_executor_problem(node: NodeSummary) -> NodeProblem:
    return NodeProblem(
        "info",
        node_problem_title(node),
        _("No executor on this node: it is watched, but no job can start there."),
        drain_facts(node),
        undrain_url=undrain_url(node),
    )


def kubernetes_problem(node: NodeSummary) -> NodeProblem | None:
    """Returns why Kubernetes does not use a node whose agent reports, or what it does there although no job of the
    queue needs it.
    """
    status, disagreements = kubernetes_status_of_node(node), disagreements_of(node)
    kept_out = node.kubernetes_problem
    if not (kept_out or disagreements):
        return None
    sentences = [localized_sentence(kept_out["code"], kept_out["data"])] if kept_out else []
    if kept_out and status and status.problem and not status.is_open:
        sentences.append(localized_sentence("kubernetes.closed", {"node": status.name}))
    return NodeProblem(
        "caution",
        _("%(name)s · in Kubernetes", name=node.name),
        " ".join(sentences),
        further_sentences=disagreements,
        repairs=list_repair_links(REPAIRS_BY_CODE.get(kept_out["code"], ()), node.id) if kept_out else [],
    )


def heartbeat_facts(node: NodeSummary) -> list[Line]:
    return [
        (_("Last signal"), BESIDE.format(time_of_datetime(node.heartbeat_at), time_of_age(node.heartbeat_at)))
    ]


def drain_facts(node: NodeSummary) -> list[Line]:
    if node.node.draining_since is None:
        return []
    by = node.node.drainer or "–"
    return [
        (_("Why it is drained"), node.node.drain_reason),
        (_("Drained by"), BESIDE.format(by, time_of_age(node.node.draining_since))),
    ]


def booked_job_facts(node: NodeSummary, fate: str) -> list[Line]:
    """The jobs that hold units there, by number alone, because not everybody may see more of them."""
    names = [
        Markup('<a href="%s">job-%s</a>') % (url_for("jobs.page", job_id=job), job) for job in node.job_ids
    ]
    return [(_("Booked there"), Markup("%s · %s") % (Markup(", ").join(names), fate))] if names else []


def undrain_url(node: NodeSummary) -> str | None:
    if node.node.draining_since is None or not may_drain():
        return None
    return url_for("nodes.undrain", node_id=node.id)


def repairs_for_silent_node(node: NodeSummary) -> list[tuple[str, str]]:
    """The repairs of this installation for a node that sends no heartbeats."""
    return list_repair_links(FOR_SILENT_NODES, node.id)
