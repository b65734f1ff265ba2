"""The metrics of jobs over REST: the lowest, highest and last value of each, and every row as CSV."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields

from portal.api.jobs.job_files import read_view_with_files
from portal.api.jobs.jobs import blueprint
from portal.api.schemas import IS_ID, RequestSchema, ResponseSchema
from portal.job_files.metrics.metrics_csv import open_csv_export
from portal.presenters.jobs.job_page import JobView
from portal.web.request_context import current_actor
from portal.web.responses.csv_responses import csv_attachment


class AttemptQuery(RequestSchema):
    attempt = fields.Integer(load_default=None, validate=IS_ID)


class MetricAnswer(ResponseSchema):
    name = fields.String(required=True)
    lowest = fields.Float(required=True)
    highest = fields.Float(required=True)
    last = fields.Float(required=True)


class MetricsAnswer(ResponseSchema):
    """Values that are no numbers are left out."""

    attempt = fields.Integer(required=True)
    items = fields.List(fields.Nested(MetricAnswer), required=True)


@blueprint.route("/<int:job_id>/metrics")
class Metrics(MethodView):
    @blueprint.arguments(AttemptQuery, location="query")
    @blueprint.response(200, MetricsAnswer)
    def get(self, query: dict[str, Any], job_id: int) -> dict[str, Any]:
        """The lowest, highest and last value of each metric of one attempt, the newest unless another is named."""
        view = read_view_with_files(job_id, query["attempt"])
        return {"attempt": view.number, "items": describe_metrics(view)}


@blueprint.route("/<int:job_id>/metrics/csv")
class MetricRows(MethodView):
    @blueprint.arguments(AttemptQuery, location="query")
    @blueprint.response(200, content_type="text/csv")
    def get(self, query: dict[str, Any], job_id: int) -> Any:
        """Every row of one attempt's metrics as CSV, as the program wrote it."""
        view = read_view_with_files(job_id, query["attempt"])
        name = f"job-{view.job.id}-attempt-{view.number}-metrics.csv"
        return csv_attachment(name, open_csv_export(view.files, current_actor().user_id))


def describe_metrics(view: JobView) -> list[dict[str, Any]]:
    """Lists the metrics by name, as the shim has summed them up so far."""
    return [
        {"name": name, "lowest": lowest, "highest": highest, "last": last}
        for name, (lowest, highest, last) in sorted(view.files.results.items())
    ]
