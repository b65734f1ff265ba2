"""A sweep: how far it is, its jobs side by side, their curves over one another, and stopping it."""

from flask import Blueprint, current_app, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.compare import PREFERRED, Entry
from cluster.domain.errors import Conflict
from cluster.domain.results import best_of
from cluster.services import sweeps
from portal import filters
from portal.csv_file import Cell, csv_response
from portal.current import current_actor, current_cluster
from portal.i18n import ngettext
from portal.job_files.buckets import Points, joined, thin
from portal.job_files.metrics import Axis
from portal.job_files.metrics_reader import MetricsReader
from portal.job_page import READER
from portal.pieces import page_or_piece
from portal.saying import say
from portal.sweep_page import SweepView, look_at_sweep
from portal.views.job_metrics import AXES, points, stretches_of

ROWS = 50
MOST_LINES = 6
"""As many curves as there are colours and dashes to tell them apart."""
FIRST_LINES = 4
STRETCHES = 120

blueprint = Blueprint("sweeps", __name__)


@blueprint.get("/sweeps/<int:sweep_id>")
def page(sweep_id: int) -> Response:
    """The address has the order (`sort`, `order`), the part of the table (`part`) and the curves (`show`)."""
    if filters.chosen("format", ("html", "csv"), "html") == "csv":
        return as_file(look(sweep_id))
    view = look(sweep_id)
    lines = chosen_lines(view)
    return page_or_piece(
        "sweeps/page.html",
        f"sweeps/_{filters.chosen('piece', ('head', 'table'), 'table')}.html",
        sweep=view.sweep,
        view=view,
        lines=lines,
        drawn=[metric for metric in PREFERRED if metric in view.metrics] or view.metrics[:2],
        part=filters.number("part") or 1,
        parts=max(1, -(-len(view.entries) // ROWS)),
        may_stop=sweeps.may_stop(current_actor(), view.sweep) and view.is_living,
        best_value=lambda entry, metric: best_of(entry.results, metric),
        same_page=same_page,
        toggled=lambda job_id: toggled(lines, job_id),
    )


def look(sweep_id: int) -> SweepView:
    part = max(1, filters.number("part") or 1)
    return look_at_sweep(
        current_cluster(),
        current_actor(),
        sweep_id,
        request.args.get("sort", "")[:64],
        filters.chosen("order", ("up", "down")),
        ROWS,
        (part - 1) * ROWS,
    )


def same_page(**changes: object) -> str:
    """As filters.same_page, with all the curves that were chosen."""
    return filters.same_page(**{"show": request.args.getlist("show"), **changes})


def chosen_lines(view: SweepView) -> list[Entry]:
    """Those that the address names, else the first ones of the table that have begun."""
    if "show" in request.args:
        asked = [int(text) for text in request.args.getlist("show") if text.isascii() and text.isdigit()]
        by_id = {entry.job_id: entry for entry in view.entries}
        return [by_id[job_id] for job_id in asked[:MOST_LINES] if job_id in by_id]
    return [entry for entry in view.entries if entry.results][:FIRST_LINES]


def toggled(lines: list[Entry], job_id: int) -> list[int] | str:
    """The curves after a click on a job: without it, or with it; the first goes where all colours are used."""
    ids = [entry.job_id for entry in lines]
    if job_id in ids:
        return sorted(one for one in ids if one != job_id) or "none"
    return sorted([*ids[-(MOST_LINES - 1) :], job_id])


@blueprint.get("/sweeps/<int:sweep_id>/metrics")
def metrics(sweep_id: int) -> Response:
    """The chosen jobs' curves on one axis: `984:loss/train` is a metric of job-984."""
    view = look(sweep_id)
    axis: Axis = filters.chosen("x", AXES, "step")  # type: ignore[assignment]
    reader: MetricsReader = current_app.extensions[READER]
    root = current_cluster().settings.storage_dir
    curves: dict[str, Points] = {}
    size, is_whole = 0, True
    for entry in chosen_lines(view):
        out = "workspaces", str(view.sweep.workspace_id), "jobs", str(entry.job_id), str(entry.attempt), "out"
        found = reader.read(root, *out)
        size += found.read_bytes
        is_whole = is_whole and found.is_whole
        stretches = stretches_of(MOST_LINES * len(found.series), STRETCHES)
        for name in found.series:
            curves[f"{entry.job_id}:{name}"] = thin(points(found, name, axis), stretches)
    xs, columns = joined(curves)
    response = jsonify({"x": xs, "series": columns, "size": size, "is_whole": is_whole})
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def as_file(view: SweepView) -> Response:
    """Every job with all parameters and the best value of every metric."""
    parameters = list(view.plan.values)
    head = ["job", "number", "state", *parameters, *view.metrics, "seconds"]

    def row(entry: Entry) -> list[Cell]:
        values = view.plan.row(entry.number)
        best: list[Cell] = [best_of(entry.results, name) for name in view.metrics]
        own: list[Cell] = [f"job-{entry.job_id}", entry.number, entry.state.value]
        return [*own, *(values[name] for name in parameters), *best, entry.seconds]

    return csv_response(f"sweep-{view.sweep.id}.csv", head, (row(entry) for entry in view.entries))


@blueprint.get("/sweeps/<int:sweep_id>/stop")
def confirm_stop(sweep_id: int) -> str:
    return render_stop(sweep_id)


@blueprint.post("/sweeps/<int:sweep_id>/stop")
def stop(sweep_id: int) -> Response:
    try:
        number = sweeps.stop_sweep(current_cluster(), current_actor(), sweep_id)
    except Conflict as conflict:
        page = render_stop(sweep_id, say(conflict.code, conflict.data))
        return Response(page, 409, mimetype="text/html")
    flash(ngettext("%(num)d job is being stopped.", "%(num)d jobs are being stopped.", number), "ok")
    return redirect(url_for("sweeps.page", sweep_id=sweep_id), 303)


def render_stop(sweep_id: int, problem: str = "") -> str:
    """What ends and what stays, in numbers read at this moment."""
    view = look_at_sweep(current_cluster(), current_actor(), sweep_id)
    may_stop = sweeps.may_stop(current_actor(), view.sweep)
    return render_template(
        "sweeps/stop.html", sweep=view.sweep, view=view, may_stop=may_stop, problem=problem
    )
