"""Node pages: list by state, show units and jobs, drain and undrain."""

from contextlib import suppress

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster import words
from cluster.domain.errors import Conflict, Refused
from cluster.domain.nodes.confinement import ConfinementGap, list_confinement_gaps
from cluster.domain.states import NodeState, UnitState
from cluster.services.nodes import drains, queries
from cluster.services.nodes.queries import NodeView
from portal.i18n.translate import _, localized_number, request_language
from portal.presenters.alerts import executor_alert_lines
from portal.presenters.unit_bars import node_bars
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("nodes", __name__)

STATE_ORDER = [
    NodeState.LOST,
    NodeState.UNREACHABLE,
    NodeState.DRAINING,
    NodeState.NO_EXECUTOR,
    NodeState.READY,
]
STATES = tuple(state.value for state in NodeState)


@blueprint.get("/nodes")
def index() -> ResponseReturnValue:
    """Nodes that are not ready first; `state` narrows the list."""
    nodes = queries.list_nodes(current_cluster(), current_actor())
    asked_state = request.args.get("state", "")
    shown = [node for node in nodes if asked_state in ("", node.state.value)]
    shown.sort(key=lambda node: (STATE_ORDER.index(node.state), is_node_healthy(node), node.name))
    return render_template(
        "nodes/_list.html" if is_fragment_request() else "nodes/list.html",
        nodes=shown,
        all_nodes=nodes,
        asked_state=asked_state,
        engine=list(executor_alert_lines()),
    )


def is_node_healthy(node: NodeView) -> bool:
    return not broken_units(node) and node.can_take_jobs


@blueprint.get("/nodes/<int:node_id>")
def page(node_id: int) -> ResponseReturnValue:
    node = queries.read_node(current_cluster(), current_actor(), node_id)
    return render_template("nodes/_details.html" if is_fragment_request() else "nodes/page.html", node=node)


@blueprint.get("/nodes/<int:node_id>/drain")
def confirm_drain(node_id: int) -> ResponseReturnValue:
    return render_drain(node_id, {})


def render_drain(node_id: int, errors: dict[str, str]) -> str:
    """Shows the jobs that draining affects, read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    return render_template(
        "nodes/drain.html",
        node=queries.read_node(cluster, actor, node_id),
        affected=drains.read_drain_effect(cluster, actor, node_id),
        errors=errors,
    )


@blueprint.post("/nodes/<int:node_id>/drain")
def drain(node_id: int) -> ResponseReturnValue:
    try:
        forms.require_known_fields("reason")
        drains.drain_node(current_cluster(), current_actor(), node_id, forms.text_field("reason"))
    except Refused as refusal:
        return render_drain(node_id, forms.error_messages(refusal)), 422
    return redirect(url_for("nodes.page", node_id=node_id), 303)


@blueprint.post("/nodes/<int:node_id>/undrain")
def undrain(node_id: int) -> ResponseReturnValue:
    """Undraining a node that is not drained changes nothing."""
    with suppress(Conflict):
        drains.undrain_node(current_cluster(), current_actor(), node_id)
    return redirect(url_for("nodes.page", node_id=node_id), 303)


@blueprint.app_template_global("unit_bars_of")
def bars_of(node: NodeView) -> list[object]:
    return list(node_bars(node))


@blueprint.app_template_global("broken_units")
def broken_units(node: NodeView) -> int:
    return sum(unit.unit.state is not UnitState.OK for unit in node.units)


@blueprint.app_template_global("confinement_gaps_of")
def weaknesses_of(node: NodeView) -> tuple[ConfinementGap, ...]:
    return list_confinement_gaps(node.confinement_features or {})


@blueprint.app_template_global("node_units_text")
def units_in_words(node: NodeView) -> str:
    """`8 × H100`, or `2 CPU slots` where the units have no model."""
    count = len(node.units)
    models = {unit.unit.model for unit in node.units if unit.unit.model}
    if len(models) == 1:
        return f"{count} × {models.pop()}"
    if not count:
        return _("none")
    return words.format_units(count, node.units[0].unit.kind, request_language())


@blueprint.app_template_global("link_speed")
def link_speed(megabits: object) -> str:
    """`100 Gb/s`; a dash where the interface does not say."""
    if not isinstance(megabits, int | float) or megabits <= 0:
        return "–"
    return (
        f"{localized_number(megabits / 1000)} Gb/s"
        if megabits >= 1000
        else f"{localized_number(megabits)} Mb/s"
    )
