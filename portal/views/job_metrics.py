"""A job's metrics as columns for the graphs, as a table to read, and as a file to keep; checkpoints to take along."""

import os
from typing import BinaryIO, get_args

from flask import Blueprint, current_app, jsonify, render_template, request
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Unavailable
from cluster.files import checkpoints
from cluster.files.beneath import FileMissing, FileNotPlain, open_file, size_of
from cluster.services.job_files import check_files
from portal import filters
from portal.current import current_actor
from portal.job_files.buckets import joined, thin
from portal.job_files.metrics import Axis, Metrics
from portal.job_files.metrics_csv import HEAD, CsvPlaces, csv_text
from portal.job_files.metrics_reader import FILE, MetricsReader
from portal.job_files.table import names_of
from portal.job_page import CSV_PLACES, READER, JobView
from portal.sending import send_file_so_far
from portal.views.job_log import read_view

STRETCHES = 250
"""Four points each: at most 1,000 of a curve, twice the pixels of a chart."""
STRETCHES_TOGETHER = 1_500
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
    return as_columns(view, axis)


def as_columns(view: JobView, axis: Axis) -> Response:
    """The tag is made of how much was read: who asks again before there is more gets 304.

    `is_whole` false: the file is large and new to us; who asks again gets more of it.
    """
    found = view.metrics
    tag = f"{view.number}-{axis}-{found.read_bytes}-{int(found.is_whole)}"
    is_known = request.if_none_match.contains(tag)
    response = Response(status=304) if is_known else jsonify(columns_of(found, axis))
    response.set_etag(tag)
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def columns_of(found: Metrics, axis: Axis) -> dict[str, object]:
    stretches = stretches_of(len(found.series), STRETCHES)
    xs, columns = joined({name: thin(points(found, name, axis), stretches) for name in found.series})
    return {
        "x": xs,
        "series": columns,
        "size": found.read_bytes,
        "is_cut": found.is_cut,
        "is_whole": found.is_whole,
    }


def stretches_of(curves: int, most: int) -> int:
    """Fewer of each where there are many: curves that have no x in common share columns as long as all together."""
    return max(1, min(most, STRETCHES_TOGETHER // max(1, curves)))


def points(found: Metrics, name: str, axis: Axis) -> tuple[list[float], list[float | None]]:
    xs, ys = found.points(name, axis)
    if axis == "time" and xs and found.first_time is not None:
        xs = [(x - found.first_time) / 60 for x in xs]
    return xs, ys


def as_file(view: JobView) -> Response:
    """Every row as it was written. Raises Unavailable where so many are being written already."""
    try:
        with open_file(view.root, *view.out, FILE) as file:
            response = rows_of(view, file)
    except (FileMissing, FileNotPlain):
        response = Response(",".join(HEAD) + "\n", mimetype="text/csv")
    said = f"job-{view.job.id}-attempt-{view.number}-metrics.csv"
    response.headers.set("Content-Disposition", "attachment", filename=said)
    return response


def rows_of(view: JobView, file: BinaryIO) -> Response:
    """The answer has a handle of its own; handle and place are given back with it."""
    if request.method == "HEAD":  # Nobody begins to write, so nobody would come to an end.
        return Response(mimetype="text/csv")
    places: CsvPlaces = current_app.extensions[CSV_PLACES]
    reader: MetricsReader = current_app.extensions[READER]
    found, user_id = view.metrics, current_actor().user_id
    names = sorted(found.series) if found.is_whole else None
    place = places.take(user_id)
    if place is None:
        raise Unavailable("job.too_many_files")
    own = os.fdopen(os.dup(file.fileno()), "rb", buffering=0)
    response = Response(csv_text(own, size_of(own), names, reader.pace, place), mimetype="text/csv")
    response.call_on_close(own.close)
    response.call_on_close(place.close)
    return response


def as_table(view: JobView) -> str:
    lines_shown = view.metrics.table.lines
    return render_template(
        "jobs/metrics.html",
        job=view.job,
        view=view,
        lines=lines_shown,
        names=names_of(lines_shown),
        total=view.metrics.rows,
    )


@blueprint.get("/jobs/<int:job_id>/checkpoints/<name>")
def checkpoint(job_id: int, name: str) -> Response:
    """One file of `out/checkpoints`, as an attachment whatever is in it."""
    view = read_view(job_id)
    if not checkpoints.is_checkpoint(name):
        raise NotFound("checkpoint", name[:100])
    check_files(view.job)
    try:
        with open_file(view.root, *view.out, checkpoints.FOLDER, name) as file:
            response = send_file_so_far(file, "application/octet-stream")
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("checkpoint", name) from error
    said = f"job-{job_id}-attempt-{view.number}-{name}"
    response.headers.set("Content-Disposition", "attachment", filename=said)
    return response
