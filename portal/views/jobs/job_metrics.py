"""Serves a job's metrics as JSON for the graphs, as a table and as CSV."""

from flask import Blueprint, jsonify, render_template, request
from werkzeug.wrappers import Response

from portal.job_files.metrics.job_metrics import CurveAxis
from portal.job_files.metrics.metric_curves import AXES, job_curves
from portal.job_files.metrics.metrics_csv import open_csv_export
from portal.job_files.metrics.metrics_table import metrics_in_lines
from portal.presenters.jobs.job_page import JobView
from portal.presenters.jobs.metric_charts import describe_charts
from portal.views.jobs.job_log import read_job_view_of_request
from portal.web import query_params
from portal.web.request_context import current_actor
from portal.web.responses.csv_responses import csv_attachment

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
    """The ETag names the number of bytes that were read. A request before the file has grown is answered with 304.

    `is_whole` is false for a large file that this process has not read completely; the next request gets more of it.
    """
    values = view.files.metrics
    tag = f"{view.number}-{axis}-{values.read_bytes}-{int(values.is_whole)}"
    is_unchanged = request.if_none_match.contains(tag)
    response = (
        Response(status=304)
        if is_unchanged
        else jsonify(job_curves(values, axis) | {"charts": describe_charts(values.series)})
    )
    response.set_etag(tag)
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def metrics_csv(view: JobView) -> Response:
    """Sends every row of the file. Raises Unavailable if too many exports run already."""
    is_head = request.method == "HEAD"  # An answer to HEAD has no text, so it takes no slot.
    return csv_attachment(
        f"job-{view.job.id}-attempt-{view.number}-metrics.csv",
        () if is_head else open_csv_export(view.files, current_actor().user_id),
    )


def metrics_table(view: JobView) -> str:
    values = view.files.metrics
    return render_template(
        "jobs/metrics.html",
        job=view.job,
        view=view,
        lines=values.table.lines,
        names=metrics_in_lines(values.table.lines),
        total=values.rows,
    )
