"""Serves a job's metrics as JSON for the graphs, as a table and as CSV, and its checkpoints as downloads."""

import os
from typing import BinaryIO, get_args

from flask import Blueprint, current_app, jsonify, render_template, request
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Unavailable
from cluster.files import checkpoints
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, open_file_size
from cluster.services.jobs.file_deletions import require_files
from portal.job_files.downsampling import downsample, join_curves
from portal.job_files.metrics import CurveAxis, JobMetrics
from portal.job_files.metrics_cache import METRICS_FILE, MetricsCache
from portal.job_files.metrics_csv import HEAD, CsvExportSlots, stream_metric_csv
from portal.job_files.metrics_table import metrics_in_lines
from portal.presenters.job_page import CSV_SLOTS, METRICS_CACHE, JobView
from portal.views.jobs.job_log import read_job_view_of_request
from portal.web import query_params
from portal.web.file_responses import send_file_so_far
from portal.web.request_context import current_actor

STRETCHES = 250
"""Four points each: at most 1,000 of a curve, twice the pixels of a chart."""
STRETCHES_TOGETHER = 1_500
AXES: tuple[CurveAxis, ...] = get_args(CurveAxis)
FORMATS = ("json", "csv", "table")

blueprint = Blueprint("job_metrics", __name__)


@blueprint.get("/jobs/<int:job_id>/metrics")
def metrics(job_id: int) -> Response | str:
    """`x` is step, epoch or time (minutes since the first row); `format` json, csv (every row) or table."""
    view = read_job_view_of_request(job_id)
    axis: CurveAxis = query_params.choice_param("x", AXES, "step")  # type: ignore[assignment]
    match query_params.choice_param("format", FORMATS, "json"):
        case "csv":
            return metrics_csv(view)
        case "table":
            return metrics_table(view)
    return metrics_json(view, axis)


def metrics_json(view: JobView, axis: CurveAxis) -> Response:
    """The tag is made of how much was read: who asks again before there is more gets 304.

    `is_whole` false: the file is large and new to us; who asks again gets more of it.
    """
    found = view.metrics
    tag = f"{view.number}-{axis}-{found.read_bytes}-{int(found.is_whole)}"
    is_known = request.if_none_match.contains(tag)
    response = Response(status=304) if is_known else jsonify(curve_columns(found, axis))
    response.set_etag(tag)
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def curve_columns(found: JobMetrics, axis: CurveAxis) -> dict[str, object]:
    stretches = ranges_per_curve(len(found.series), STRETCHES)
    xs, columns = join_curves(
        {name: downsample(curve_points(found, name, axis), stretches) for name in found.series}
    )
    return {
        "x": xs,
        "series": columns,
        "size": found.read_bytes,
        "is_cut": found.is_cut,
        "is_whole": found.is_whole,
    }


def ranges_per_curve(curves: int, most: int) -> int:
    """Fewer of each where there are many: curves that have no x in common share columns as long as all together."""
    return max(1, min(most, STRETCHES_TOGETHER // max(1, curves)))


def curve_points(found: JobMetrics, name: str, axis: CurveAxis) -> tuple[list[float], list[float | None]]:
    xs, ys = found.points(name, axis)
    if axis == "time" and xs and found.first_time is not None:
        xs = [(x - found.first_time) / 60 for x in xs]
    return xs, ys


def metrics_csv(view: JobView) -> Response:
    """Every row as it was written. Raises Unavailable where so many are being written already."""
    try:
        with open_file_beneath(view.root, *view.out, METRICS_FILE) as file:
            response = csv_export(view, file)
    except (FileMissing, FileNotPlain):
        response = Response(",".join(HEAD) + "\n", mimetype="text/csv")
    said = f"job-{view.job.id}-attempt-{view.number}-metrics.csv"
    response.headers.set("Content-Disposition", "attachment", filename=said)
    return response


def csv_export(view: JobView, file: BinaryIO) -> Response:
    """The answer has a handle of its own; handle and place are given back with it."""
    if request.method == "HEAD":  # Nobody begins to write, so nobody would come to an end.
        return Response(mimetype="text/csv")
    places: CsvExportSlots = current_app.extensions[CSV_SLOTS]
    reader: MetricsCache = current_app.extensions[METRICS_CACHE]
    found, user_id = view.metrics, current_actor().user_id
    names = sorted(found.series) if found.is_whole else None
    place = places.take(user_id)
    if place is None:
        raise Unavailable("job.too_many_files")
    own = os.fdopen(os.dup(file.fileno()), "rb", buffering=0)
    response = Response(
        stream_metric_csv(own, open_file_size(own), names, reader.time_slicer, place), mimetype="text/csv"
    )
    response.call_on_close(own.close)
    response.call_on_close(place.close)
    return response


def metrics_table(view: JobView) -> str:
    lines_shown = view.metrics.table.lines
    return render_template(
        "jobs/metrics.html",
        job=view.job,
        view=view,
        lines=lines_shown,
        names=metrics_in_lines(lines_shown),
        total=view.metrics.rows,
    )


@blueprint.get("/jobs/<int:job_id>/checkpoints/<name>")
def checkpoint(job_id: int, name: str) -> Response:
    """One file of `out/checkpoints`, as an attachment whatever is in it."""
    view = read_job_view_of_request(job_id)
    if not checkpoints.is_checkpoint_name(name):
        raise NotFound("checkpoint", name[:100])
    require_files(view.job)
    try:
        with open_file_beneath(view.root, *view.out, checkpoints.FOLDER, name) as file:
            response = send_file_so_far(file, "application/octet-stream")
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("checkpoint", name) from error
    said = f"job-{job_id}-attempt-{view.number}-{name}"
    response.headers.set("Content-Disposition", "attachment", filename=said)
    return response
