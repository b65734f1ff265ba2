"""Sweep pages: progress, jobs side by side, their curves in one graph, stop."""

from flask import Blueprint, current_app, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict
from cluster.domain.jobs.results import best_value
from cluster.domain.sweeps.comparison import PREFERRED_METRICS, SweepJobResult
from cluster.services.sweeps import stops
from portal.i18n.messages import localized_sentence
from portal.i18n.translate import ngettext
from portal.job_files.downsampling import CurvePoints, downsample, join_curves
from portal.job_files.metrics import CurveAxis
from portal.job_files.metrics_cache import MetricsCache
from portal.presenters.job_page import METRICS_CACHE
from portal.presenters.sweep_page import SweepView, read_sweep_view
from portal.views.jobs.job_metrics import AXES, curve_points, ranges_per_curve
from portal.web import query_params
from portal.web.csv_responses import CsvCell, csv_response
from portal.web.fragments import render_page_or_fragment
from portal.web.request_context import current_actor, current_cluster

PAGE_LENGTH = 50
MAX_CURVES = 6
"""As many curves as there are colours and dashes to tell them apart."""
DEFAULT_CURVES = 4
STRETCHES = 120

blueprint = Blueprint("sweeps", __name__)


@blueprint.get("/sweeps/<int:sweep_id>")
def page(sweep_id: int) -> Response:
    """The address has the order (`sort`, `order`), the part of the table (`part`) and the curves (`show`)."""
    if query_params.choice_param("format", ("html", "csv"), "html") == "csv":
        return sweep_csv(read_view(sweep_id))
    view = read_view(sweep_id)
    lines = read_chosen_results(view)
    return render_page_or_fragment(
        "sweeps/page.html",
        f"sweeps/_{query_params.choice_param('fragment', ('head', 'table'), 'table')}.html",
        sweep=view.sweep,
        view=view,
        lines=lines,
        drawn=[metric for metric in PREFERRED_METRICS if metric in view.metrics] or view.metrics[:2],
        part=query_params.id_param("part") or 1,
        parts=max(1, -(-len(view.results) // PAGE_LENGTH)),
        may_stop=stops.can_stop_sweep(current_actor(), view.sweep) and view.is_live,
        best_value=lambda entry, metric: best_value(entry.results, metric),
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
    )


def current_sweep_url_with(**changes: object) -> str:
    """As query_params.current_url_with, with all the curves that were chosen."""
    return query_params.current_url_with(**{"show": request.args.getlist("show"), **changes})


def read_chosen_results(view: SweepView) -> list[SweepJobResult]:
    """The results that the address names, else the first ones that have metrics."""
    if "show" in request.args:
        asked = [int(text) for text in request.args.getlist("show") if text.isascii() and text.isdigit()]
        by_id = {entry.job_id: entry for entry in view.results}
        return [by_id[job_id] for job_id in asked[:MAX_CURVES] if job_id in by_id]
    return [entry for entry in view.results if entry.results][:DEFAULT_CURVES]


def toggle_curve(lines: list[SweepJobResult], job_id: int) -> list[int] | str:
    """The curves after a click on a job: without it, or with it; the first goes where all colours are used."""
    ids = [entry.job_id for entry in lines]
    if job_id in ids:
        return sorted(one for one in ids if one != job_id) or "none"
    return sorted([*ids[-(MAX_CURVES - 1) :], job_id])


@blueprint.get("/sweeps/<int:sweep_id>/metrics")
def metrics(sweep_id: int) -> Response:
    """The chosen jobs' curves on one axis: `984:loss/train` is a metric of job-984."""
    view = read_view(sweep_id)
    axis: CurveAxis = query_params.choice_param("x", AXES, "step")  # type: ignore[assignment]
    reader: MetricsCache = current_app.extensions[METRICS_CACHE]
    root = current_cluster().settings.storage_dir
    curves: dict[str, CurvePoints] = {}
    size, is_whole = 0, True
    for entry in read_chosen_results(view):
        out = "workspaces", str(view.sweep.workspace_id), "jobs", str(entry.job_id), str(entry.attempt), "out"
        found = reader.read(root, *out)
        size += found.read_bytes
        is_whole = is_whole and found.is_whole
        stretches = ranges_per_curve(MAX_CURVES * len(found.series), STRETCHES)
        for name in found.series:
            curves[f"{entry.job_id}:{name}"] = downsample(curve_points(found, name, axis), stretches)
    xs, columns = join_curves(curves)
    response = jsonify({"x": xs, "series": columns, "size": size, "is_whole": is_whole})
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def sweep_csv(view: SweepView) -> Response:
    """Every job with all parameters and the best value of every metric."""
    parameters = list(view.plan.values)
    head = ["job", "number", "state", *parameters, *view.metrics, "seconds"]

    def row(entry: SweepJobResult) -> list[CsvCell]:
        values = view.plan.row(entry.number)
        best: list[CsvCell] = [best_value(entry.results, name) for name in view.metrics]
        own: list[CsvCell] = [f"job-{entry.job_id}", entry.number, entry.state.value]
        return [*own, *(values[name] for name in parameters), *best, entry.seconds]

    return csv_response(f"sweep-{view.sweep.id}.csv", head, (row(entry) for entry in view.results))


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
    flash(ngettext("%(num)d job is being stopped.", "%(num)d jobs are being stopped.", number), "ok")
    return redirect(url_for("sweeps.page", sweep_id=sweep_id), 303)


def render_stop_sweep(sweep_id: int, problem: str = "") -> str:
    """What ends and what stays, in numbers read at this moment."""
    view = read_sweep_view(current_cluster(), current_actor(), sweep_id)
    may_stop = stops.can_stop_sweep(current_actor(), view.sweep)
    return render_template(
        "sweeps/stop.html", sweep=view.sweep, view=view, may_stop=may_stop, problem=problem
    )
