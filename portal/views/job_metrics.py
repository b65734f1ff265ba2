"""A job's metrics as columns for the graphs, as a table to read, and as a file to keep; checkpoints to take along."""

from collections.abc import Iterator
from typing import get_args

from flask import Blueprint, jsonify, render_template, request
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound
from cluster.files import checkpoints
from cluster.files.beneath import FileMissing, FileNotPlain, open_file
from portal import filters
from portal.job_files.buckets import joined, thin
from portal.job_files.metrics import Axis, Metrics
from portal.job_files.table import lines_of, names_of
from portal.job_page import JobView
from portal.sending import send_file_so_far
from portal.views.job_log import read_view

STRETCHES = 250
"""Four points each: at most 1,000 of a curve, twice the pixels of a chart."""
AXES: tuple[Axis, ...] = get_args(Axis)
FORMATS = ("json", "csv", "table")

blueprint = Blueprint("job_metrics", __name__)


@blueprint.get("/jobs/<int:job_id>/metrics")
def metrics(job_id: int) -> Response | str:
    """`x` is step, epoch or time (minutes since the first row); `format` json, csv (every row) or table."""
    view = read_view(job_id)
    axis: Axis = filters.chosen("x", AXES, "step")  # type: ignore[assignment]
    match filters.chosen("format", FORMATS, "json"):
        case "csv":
            return as_file(view)
        case "table":
            return as_table(view)
    return as_columns(view.metrics, view.number, axis)


def as_columns(found: Metrics, attempt: int, axis: Axis) -> Response:
    """The tag is made of the file's size: who asks again before it has grown gets 304."""
    xs, columns = joined({name: thin(points(found, name, axis), STRETCHES) for name in found.series})
    response = jsonify({"x": xs, "series": columns, "size": found.read_bytes, "is_cut": found.is_cut})
    response.set_etag(f"{attempt}-{axis}-{found.read_bytes}")
    response.headers["Cache-Control"] = "private, no-cache"
    return response.make_conditional(request)


def points(found: Metrics, name: str, axis: Axis) -> tuple[list[float], list[float | None]]:
    xs, ys = found.points(name, axis)
    if axis == "time" and xs:
        begin = next((time for time in found.times if time == time), xs[0])
        xs = [(x - begin) / 60 for x in xs]
    return xs, ys


def as_file(view: JobView) -> Response:
    """Every row as it was written. Names are plain (see job_files.metrics), so no cell is a formula."""
    found = view.metrics
    response = Response(lines(found), mimetype="text/csv")
    said = f"job-{view.job.id}-attempt-{view.number}-metrics.csv"
    response.headers.set("Content-Disposition", "attachment", filename=said)
    return response


def lines(found: Metrics) -> Iterator[str]:
    names = sorted(found.series)
    cells: list[dict[str, float]] = [{} for _ in found.steps]
    for name in names:
        series = found.series[name]
        for row, value in zip(series.rows, series.values, strict=True):
            cells[row][name] = value
    yield ",".join(["step", "epoch", "time", *names]) + "\n"
    for row, step in enumerate(found.steps):
        values = [found.epochs[row], found.times[row], *(cells[row].get(name) for name in names)]
        yield ",".join([str(step), *("" if one is None else repr(one) for one in values)]) + "\n"


def as_table(view: JobView) -> str:
    lines_shown = lines_of(view.metrics)
    return render_template(
        "jobs/metrics.html",
        job=view.job,
        view=view,
        lines=lines_shown,
        names=names_of(lines_shown),
        total=len(view.metrics.steps),
    )


@blueprint.get("/jobs/<int:job_id>/checkpoints/<name>")
def checkpoint(job_id: int, name: str) -> Response:
    """One file of `out/checkpoints`, as an attachment whatever is in it."""
    view = read_view(job_id)
    if not checkpoints.is_checkpoint(name):
        raise NotFound("checkpoint", name[:100])
    try:
        with open_file(view.root, *view.out, checkpoints.FOLDER, name) as file:
            response = send_file_so_far(file, "application/octet-stream")
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("checkpoint", name) from error
    said = f"job-{job_id}-attempt-{view.number}-{name}"
    response.headers.set("Content-Disposition", "attachment", filename=said)
    return response
