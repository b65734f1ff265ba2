"""Nodes: state with its reason, what the agent saw, which job holds which unit; drained and opened again."""

from contextlib import suppress

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster import words
from cluster.domain.confinement import Weakness, list_weaknesses
from cluster.domain.errors import Conflict, Refused
from cluster.domain.states import NodeState, UnitState
from cluster.services import nodes
from cluster.services.nodes import NodeView
from portal import forms
from portal.attention import engine_lines
from portal.current import current_actor, current_cluster, is_fragment
from portal.i18n import _, language, number
from portal.unit_bars import node_bars

blueprint = Blueprint("nodes", __name__)

TROUBLE_FIRST = [
    NodeState.LOST,
    NodeState.UNREACHABLE,
    NodeState.DRAINING,
    NodeState.NO_EXECUTOR,
    NodeState.READY,
]
STATES = tuple(state.value for state in NodeState)


@blueprint.get("/nodes")
def index() -> ResponseReturnValue:
    """Those in trouble first; `state` narrows the list."""
    found = nodes.unit_map(current_cluster(), current_actor())
    asked_state = request.args.get("state", "")
    shown = [node for node in found if asked_state in ("", node.state.value)]
    shown.sort(key=lambda node: (TROUBLE_FIRST.index(node.state), is_well(node), node.name))
    return render_template(
        "nodes/_list.html" if is_fragment() else "nodes/list.html",
        nodes=shown,
        all_nodes=found,
        asked_state=asked_state,
        engine=list(engine_lines()),
    )


def is_well(node: NodeView) -> bool:
    return not broken_units(node) and node.takes_jobs


@blueprint.get("/nodes/<int:node_id>")
def page(node_id: int) -> ResponseReturnValue:
    node = nodes.read_node(current_cluster(), current_actor(), node_id)
    return render_template("nodes/_node.html" if is_fragment() else "nodes/page.html", node=node)


@blueprint.get("/nodes/<int:node_id>/drain")
def confirm_drain(node_id: int) -> ResponseReturnValue:
    return render_confirm(node_id, {})


def render_confirm(node_id: int, errors: dict[str, str]) -> str:
    """Whom it touches, read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    return render_template(
        "nodes/drain.html",
        node=nodes.read_node(cluster, actor, node_id),
        affected=nodes.affected_jobs(cluster, actor, node_id),
        errors=errors,
    )


@blueprint.post("/nodes/<int:node_id>/drain")
def drain(node_id: int) -> ResponseReturnValue:
    try:
        forms.expect("reason")
        nodes.drain_node(current_cluster(), current_actor(), node_id, forms.text("reason"))
    except Refused as refusal:
        return render_confirm(node_id, forms.problems(refusal)), 422
    return redirect(url_for("nodes.page", node_id=node_id), 303)


@blueprint.post("/nodes/<int:node_id>/undrain")
def undrain(node_id: int) -> ResponseReturnValue:
    """A second click finds it open already."""
    with suppress(Conflict):
        nodes.undrain_node(current_cluster(), current_actor(), node_id)
    return redirect(url_for("nodes.page", node_id=node_id), 303)


@blueprint.app_template_global("bars_of")
def bars_of(node: NodeView) -> list[object]:
    return list(node_bars(node))


@blueprint.app_template_global("broken_units")
def broken_units(node: NodeView) -> int:
    return sum(unit.unit.state is not UnitState.OK for unit in node.units)


@blueprint.app_template_global("weaknesses_of")
def weaknesses_of(node: NodeView) -> tuple[Weakness, ...]:
    return list_weaknesses(node.powers or {})


@blueprint.app_template_global("units_in_words")
def units_in_words(node: NodeView) -> str:
    """`8 × H100`, or `2 CPU slots` where the units have no model."""
    count = len(node.units)
    models = {unit.unit.model for unit in node.units if unit.unit.model}
    if len(models) == 1:
        return f"{count} × {models.pop()}"
    if not count:
        return _("none")
    return words.units(count, node.units[0].unit.kind, language())


@blueprint.app_template_global("link_speed")
def link_speed(megabits: object) -> str:
    """`100 Gb/s`; a dash where the interface does not say."""
    if not isinstance(megabits, int | float) or megabits <= 0:
        return "–"
    return f"{number(megabits / 1000)} Gb/s" if megabits >= 1000 else f"{number(megabits)} Mb/s"
