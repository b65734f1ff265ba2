"""Node pages: list or map by state and name, show units and jobs, drain, undrain and forget."""

from contextlib import suppress

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, Refused
from cluster.domain.nodes.confinement import ConfinementGap, list_confinement_gaps
from cluster.domain.nodes.node_networks import purposes_of
from cluster.domain.states import NodeState
from cluster.services.nodes import (
    drain_effects,
    drains,
    forgotten_nodes,
    gpu_checks,
    queries,
    summaries,
    totals,
)
from portal.i18n.translate import _, localized_number
from portal.presenters.alerts import executor_alert_lines
from portal.presenters.daily_usage import draw_days_of_node
from portal.presenters.nodes.node_list import count_states, list_node_rows, node_look, units_in_words
from portal.presenters.nodes.node_map import draw_node_map
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("nodes", __name__)

PAGE_LENGTH = 50
STATES = tuple(state.value for state in NodeState)
VIEWS = ("list", "map")
LONGEST_NAME = 64


@blueprint.get("/nodes")
def index() -> ResponseReturnValue:
    """The nodes, those that need a person first. Parameters: `state`, `name` (a part), `after` (keyset), `view=map`."""
    node_filter, view = parse_node_filter(), query_params.choice_param("view", VIEWS, "list")
    values = map_values(node_filter) if view == "map" else list_values(node_filter)
    if is_fragment_request():
        return render_template(f"nodes/_{view}.html", **values)
    return render_template(
        "nodes/list.html",
        counts=count_states(totals.read_node_totals(current_cluster(), totals.NodeFilter(node_filter.name))),
        view=view,
        states=STATES,
        engine=list(executor_alert_lines()),
        **values,
    )


def parse_node_filter() -> totals.NodeFilter:
    """Raises Refused."""
    state = query_params.choice_param("state", STATES)
    name = request.args.get("name", "").strip()[:LONGEST_NAME]
    return totals.NodeFilter(name, NodeState(state) if state else None)


def list_values(node_filter: totals.NodeFilter) -> dict[str, object]:
    page = summaries.list_node_page(
        current_cluster(), current_actor(), node_filter, query_params.id_param("after"), PAGE_LENGTH
    )
    return {
        "nodes": list_node_rows(page),
        "next_after": page.next_after,
        "node_filter": node_filter,
        "current_url_with": query_params.current_url_with,
    }


def map_values(node_filter: totals.NodeFilter) -> dict[str, object]:
    return {
        "map": draw_node_map(current_cluster(), node_filter),
        "node_filter": node_filter,
        "current_url_with": query_params.current_url_with,
    }


@blueprint.get("/nodes/<int:node_id>")
def page(node_id: int) -> ResponseReturnValue:
    node = queries.read_node(current_cluster(), current_actor(), node_id)
    return render_template(
        "nodes/_details.html" if is_fragment_request() else "nodes/page.html",
        node=node,
        look=node_look(node),
        units_text=units_in_words(node),
        daily_usage=draw_days_of_node(node_id),
        gpu_checks=gpu_checks.list_newest_checks(current_cluster(), node_id)
        if current_actor().is_administrator
        else [],
    )


@blueprint.get("/nodes/<int:node_id>/drain")
def confirm_drain(node_id: int) -> ResponseReturnValue:
    return render_drain(node_id, {})


def render_drain(node_id: int, errors: dict[str, str]) -> str:
    """Shows the jobs that draining affects, read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    return render_template(
        "nodes/drain.html",
        node=queries.read_node(cluster, actor, node_id),
        affected=drain_effects.read_drain_effect(cluster, actor, node_id),
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


@blueprint.get("/nodes/<int:node_id>/forget")
def confirm_forget(node_id: int) -> ResponseReturnValue:
    return render_forget(node_id, None)


def render_forget(node_id: int, conflict: Conflict | None) -> str:
    """Renders the form; `conflict` is the reason why the node was not forgotten."""
    node = queries.read_node(current_cluster(), current_actor(), node_id)
    return render_template("nodes/forget.html", node=node, units_text=units_in_words(node), conflict=conflict)


@blueprint.post("/nodes/<int:node_id>/forget")
def forget(node_id: int) -> ResponseReturnValue:
    try:
        forgotten_nodes.forget_node(current_cluster(), current_actor(), node_id)
    except Conflict as conflict:
        return render_forget(node_id, conflict), 409
    return redirect(url_for("nodes.index"), 303)


@blueprint.app_template_global("confinement_gaps_of")
def weaknesses_of(node: queries.NodeSummary) -> tuple[ConfinementGap, ...]:
    return list_confinement_gaps(node.confinement_features or {})


@blueprint.app_template_global("interface_purposes")
def interface_purposes(node: queries.NodeSummary, interface: str) -> str:
    """Returns `management, training`; a dash if the installer has named no purpose."""
    names = {"management": _("management"), "training": _("training"), "infiniband": "InfiniBand"}
    return ", ".join(names[purpose] for purpose in purposes_of(node.facts, interface)) or "–"


@blueprint.app_template_global("link_speed")
def link_speed(megabits: object) -> str:
    """Returns `100 Gb/s`; a dash if the interface reports no speed."""
    if not isinstance(megabits, int | float) or megabits <= 0:
        return "–"
    return (
        f"{localized_number(megabits / 1000)} Gb/s"
        if megabits >= 1000
        else f"{localized_number(megabits)} Mb/s"
    )
