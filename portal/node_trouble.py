"""What is the case with a node that is not simply ready, and what would help: the open row and the page's head."""

from dataclasses import dataclass, field
from datetime import timedelta

from flask import Flask, url_for
from markupsafe import Markup

from cluster.domain.kube.remedies import REMEDIES
from cluster.domain.states import NodeState
from cluster.services.nodes import NodeView
from portal.current import current_actor, current_cluster
from portal.i18n import _, ago, duration, moment, now
from portal.kubernetes_health import disagreements_of, seen_of
from portal.repairs_offered import offer
from portal.saying import say, word_for

Line = tuple[str, str | Markup]
FOR_SILENT_NODES = ("restart-worker-agent", "reconnect-node", "reboot-node")


@dataclass(frozen=True)
class Trouble:
    """`kind` is how grave it is (as `notice` calls it); `facts` are lines of what and answer."""

    kind: str
    title: str
    sentence: str
    facts: list[Line] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)
    opens_again: str | None = None
    """Where a drained node is opened again, for who may."""
    repairs: list[tuple[str, str]] = field(default_factory=list)
    """Titles and forecasts of repairs that help, the gentlest first, for administrators."""
    others: list[str] = field(default_factory=list)
    """Further sentences, each for itself."""


def init_app(app: Flask) -> None:
    app.add_template_global(trouble_of)
    app.add_template_global(may_drain)


def may_drain() -> bool:
    return current_actor().is_administrator


def trouble_of(node: NodeView) -> Trouble | None:
    """None for a node that is ready and takes jobs."""
    make = {
        NodeState.UNREACHABLE: unreachable,
        NodeState.LOST: lost,
        NodeState.DRAINING: draining,
        NodeState.NO_EXECUTOR: without_executor,
    }.get(node.state)
    return make(node) if make else troubled_in_kubernetes(node)


def title_of(node: NodeView) -> str:
    return f"{node.name} · {word_for('state.node', node.state.value)}"


def unreachable(node: NodeView) -> Trouble:
    facts = [*last_signal(node), *booked(node, _("stays booked"))]
    if node.heartbeat_at is not None:
        grace = timedelta(seconds=current_cluster().settings.node_grace_seconds)
        left = (node.heartbeat_at + grace - now()).total_seconds()
        facts.append((_("Given up"), _("in %(time)s", time=duration(left)) if left > 0 else _("now")))
    return Trouble(
        "caution",
        title_of(node),
        _("Its agent does not answer. What is booked stays booked, nothing new starts there."),
        facts + drain_lines(node),
        [
            _("Look whether the machine is on and its agent runs; it comes back by itself."),
            _("Once it is given up, its jobs go on elsewhere from their last checkpoint."),
        ],
        opens_again(node),
        offered(node),
    )


def lost(node: NodeView) -> Trouble:
    return Trouble(
        "fault",
        title_of(node),
        _("It was silent for too long and has been given up: its jobs wait again or run elsewhere."),
        [*last_signal(node), *booked(node, _("being taken away")), *drain_lines(node)],
        [
            _("Look whether the machine is on, its network is there and its agent runs."),
            _("When it answers, what still runs there is ended first; then it takes jobs again by itself."),
        ],
        opens_again(node),
        offered(node),
    )


def draining(node: NodeView) -> Trouble:
    held = bool(node.job_ids)
    told = _("Nothing new starts here; what runs goes on to its end.")
    return Trouble(
        "info",
        title_of(node),
        told if held else _("Nothing new starts here, and nothing runs any more: it can be worked on."),
        [*drain_lines(node), *booked(node, _("ends by itself"))],
        [] if opens_again(node) else [_("An administrator opens it again.")],
        opens_again(node),
    )


def without_executor(node: NodeView) -> Trouble:
    return Trouble(
        "info",
        title_of(node),
        _("No executor on this node: it is watched, but no job can start there."),
        drain_lines(node),
        opens_again=opens_again(node),
    )


def troubled_in_kubernetes(node: NodeView) -> Trouble | None:
    """Its agent is well, and Kubernetes does not use it, or does there what nobody has queued."""
    seen, disagreements = seen_of(node), disagreements_of(node)
    kept_out = node.kept_out
    if not (kept_out or disagreements):
        return None
    told = [say(kept_out["code"], kept_out["data"])] if kept_out else []
    if kept_out and seen and seen.problem and not seen.is_open:
        told.append(say("kubernetes.closed", {"node": seen.name}))
    return Trouble(
        "caution",
        _("%(name)s · in Kubernetes", name=node.name),
        " ".join(told),
        others=disagreements,
        repairs=offer(REMEDIES.get(kept_out["code"], ()), node.id) if kept_out else [],
    )


def last_signal(node: NodeView) -> list[Line]:
    return [(_("Last signal"), f"{moment(node.heartbeat_at)} · {ago(node.heartbeat_at)}")]


def drain_lines(node: NodeView) -> list[Line]:
    if node.node.draining_since is None:
        return []
    by = node.node.drainer.name if node.node.drainer else "–"
    return [
        (_("Why it is drained"), node.node.drain_reason),
        (_("Drained by"), f"{by} · {ago(node.node.draining_since)}"),
    ]


def booked(node: NodeView, fate: str) -> list[Line]:
    """Jobs that hold units there, each with its number alone: not everybody may know more."""
    names = [
        Markup('<a href="%s">job-%s</a>') % (url_for("jobs.page", job_id=job), job) for job in node.job_ids
    ]
    return [(_("Booked there"), Markup("%s · %s") % (Markup(", ").join(names), fate))] if names else []


def opens_again(node: NodeView) -> str | None:
    if node.node.draining_since is None or not may_drain():
        return None
    return url_for("nodes.undrain", node_id=node.id)


def offered(node: NodeView) -> list[tuple[str, str]]:
    """What this installation has for a node that does not report."""
    return offer(FOR_SILENT_NODES, node.id)
