"""Sweep pages show progress, jobs side by side and their curves in one graph, and stop a sweep."""

from flask import Blueprint, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict
from cluster.domain.sweeps.findings import list_findings
from cluster.services.sweeps import stops
from portal.i18n.messages import localized_sentence
from portal.i18n.translate import ngettext
from portal.job_files.metrics.job_metrics import CurveAxis
from portal.job_files.metrics.metric_curves import AXES, sweep_curves
from portal.presenters.sweeps.best_checkpoints import list_best_checkpoints
from portal.presenters.sweeps.chosen_curves import chosen_results, drawn_results, other_results, toggle_curve
from portal.presenters.sweeps.parallel_coordinates import describe_coordinates
from portal.presenters.sweeps.sweep_page import (
    SweepView,
    read_metrics_of_jobs,
    read_sweep_view,
    sweep_csv_head,
    sweep_csv_row,
)
from portal.web import query_params
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses import csv_responses, fragments

PAGE_LENGTH = 50

blueprint = Blueprint("sweeps", __name__)


@blueprint.get("/sweeps/<int:sweep_id>")
def page(sweep_id: int) -> Response:
    """Parameters: the order (`sort`, `order`), the table's `part`, the compared `metric`, the curves to `show`."""
    if query_params.choice_param("format", ("html", "csv"), "html") == "csv":
        return sweep_csv(read_view(sweep_id))
    view = read_view(sweep_id)
    lines = chosen_results(view)
    return fragments.render_page_or_fragment(
        "sweeps/page.html",
        f"sweeps/_{query_params.choice_param('fragment', ('head', 'table'), 'table')}.html",
        sweep=view.sweep,
        view=view,
        lines=lines,
        others=other_results(view, lines),
        list_checkpoints=lambda: list_best_checkpoints(current_cluster(), view) if view.metric else [],
        coordinates=describe_coordinates(view, lines),
        findings=list_findings(view.results, view.plan, view.metric, view.headline) if view.metric else [],
        has_duplicate=view.has_form,
        part=query_params.id_param("part") or 1,
        parts=max(1, -(-len(view.results) // PAGE_LENGTH)),
        may_stop=stops.can_stop_sweep(current_actor(), view.sweep) and view.is_live,
        current_url_with=current_sweep_url_with,
        toggled=lambda job_id: toggle_curve(lines, job_id),
    )


def read_view(sweep_id: int) -> SweepView:
    part = max(1, query_params.id_param("part") or 1)
    return read_sweep_view(
        current_cluster(),
        current_actor(),
        sweep_id,
        request.args.get("sort", "")[:64],
        query_params.choice_param("order", ("up", "down")),
        PAGE_LENGTH,
        (part - 1) * PAGE_LENGTH,
        query_params.text_param("metric"),
    )


def current_sweep_url_with(**changes: object) -> str:
    """Does what query_params.current_url_with does, and keeps all chosen curves."""
    return query_params.current_url_with(**{"show": request.args.getlist("show"), **changes})


@blueprint.get("/sweeps/<int:sweep_id>/metrics")
def metrics(sweep_id: int) -> Response:
    """The curves of the chosen jobs and of the faint ones on one axis."""
    view = read_view(sweep_id)
    axis: CurveAxis = query_params.choice_param("x", AXES, "step")  # type: ignore[assignment]
    response = jsonify(sweep_curves(read_metrics_of_jobs(current_cluster(), view, drawn_results(view)), axis))
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def sweep_csv(view: SweepView) -> Response:
    rows = (sweep_csv_row(view, entry) for entry in view.results)
    return csv_responses.csv_response(f"sweep-{view.sweep.id}.csv", sweep_csv_head(view), rows)


@blueprint.get("/sweeps/<int:sweep_id>/stop")
def confirm_stop(sweep_id: int) -> str:
    return render_stop_sweep(sweep_id)


@blueprint.post("/sweeps/<int:sweep_id>/stop")
def stop(sweep_id: int) -> Response:
    try:
        number = stops.stop_sweep(current_cluster(), current_actor(), sweep_id)
    except Conflict as conflict:
        page = render_stop_sweep(sweep_id, localized_sentence(conflict.code, conflict.data))
        return Response(page, 409, mimetype="text/html")
    flash(ngettext("%(num)d job is being stopped.", "%(num)d jobs are being stopped.", number), "passing")
    return redirect(url_for("sweeps.page", sweep_id=sweep_id), 303)


def render_stop_sweep(sweep_id: int, problem: str = "") -> str:
    """Shows what ends and what stays, counted at this moment."""
    view = read_sweep_view(current_cluster(), current_actor(), sweep_id)
    may_stop = stops.can_stop_sweep(current_actor(), view.sweep)
    return render_template(
        "sweeps/stop.html", sweep=view.sweep, view=view, may_stop=may_stop, problem=problem
    )
