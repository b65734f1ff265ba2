"""All logs of a job in one over REST: its last lines by time, and a search with the first error."""

from datetime import UTC, datetime
from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from portal.api.jobs.job_files import read_view_with_files
from portal.api.jobs.jobs import blueprint
from portal.api.schemas import IS_ID, RequestSchema, ResponseSchema
from portal.job_files.logs.log_chunks import LogFile
from portal.job_files.logs.log_times import read_log_times
from portal.job_files.logs.merged_log import read_merged_log
from portal.job_files.logs.merged_log_search import MergedMatch, search_merged_logs
from portal.job_files.metrics.metrics_cache import current_metrics_cache
from portal.presenters.jobs.job_page import JobView

SOURCE = {"description": "`rank-0` … or `launcher`; empty: all"}


class LogsQuery(RequestSchema):
    source = fields.String(
        load_default="", validate=validate.Regexp(r"^(|rank-\d{1,4}|launcher)$"), metadata=SOURCE
    )
    stream = fields.String(load_default="", validate=validate.OneOf(["", "stdout", "stderr"]))
    attempt = fields.Integer(load_default=None, validate=IS_ID)


class MergedQuery(LogsQuery):
    before = fields.Float(load_default=None, allow_nan=False, validate=validate.Range(0, 2**33))


class LogSearchQuery(LogsQuery):
    text = fields.String(load_default="", validate=validate.Length(max=200))


class LogLineAnswer(ResponseSchema):
    source = fields.String(required=True)
    stream = fields.String(required=True)
    time = fields.AwareDateTime(required=True, allow_none=True)
    text = fields.String(required=True)


class LogMatchAnswer(LogLineAnswer):
    line = fields.Integer(required=True)


class MergedAnswer(ResponseSchema):
    """`earlier` is the `before` with which older lines are read; null: there are none."""

    lines = fields.List(fields.Nested(LogLineAnswer), required=True)
    earlier = fields.Float(required=True, allow_none=True)
    left_out_files = fields.Integer(required=True)


class LogSearchAnswer(ResponseSchema):
    count = fields.Integer(required=True)
    covers_all = fields.Boolean(required=True)
    matches = fields.List(fields.Nested(LogMatchAnswer), required=True)
    first_error = fields.Nested(LogMatchAnswer, required=True, allow_none=True)


@blueprint.route("/<int:job_id>/log/merged")
class MergedLines(MethodView):
    @blueprint.arguments(MergedQuery, location="query")
    @blueprint.response(200, MergedAnswer)
    def get(self, query: dict[str, Any], job_id: int) -> dict[str, Any]:
        """The last lines of all logs, at most 128 KiB, in the order of their times."""
        view = read_view_with_files(job_id, query["attempt"])
        times = read_log_times(view.files.root, *view.files.control)
        merged = read_merged_log(
            view.files.root, view.files.out, chosen_logs(view, query), times, query["before"]
        )
        lines = [describe_line(line.log, line.time, line.text) for line in merged.lines]
        return {"lines": lines, "earlier": merged.earlier, "left_out_files": merged.left_out_files}


@blueprint.route("/<int:job_id>/log/search")
class LogSearch(MethodView):
    @blueprint.arguments(LogSearchQuery, location="query")
    @blueprint.response(200, LogSearchAnswer)
    def get(self, query: dict[str, Any], job_id: int) -> dict[str, Any]:
        """Lines of all logs with this text, whatever its case, and the first error."""
        view = read_view_with_files(job_id, query["attempt"])
        found = search_merged_logs(
            view.files.root,
            view.files.out,
            chosen_logs(view, query),
            read_log_times(view.files.root, *view.files.control),
            query["text"],
            current_metrics_cache().time_slicer,
        )
        return {
            "count": found.count,
            "covers_all": found.covers_all,
            "matches": [describe_match(match) for match in found.matches],
            "first_error": describe_match(found.first_error) if found.first_error else None,
        }


def chosen_logs(view: JobView, query: dict[str, Any]) -> list[LogFile]:
    return [
        log
        for log in view.files.logs
        if query["source"] in ("", log.source) and query["stream"] in ("", log.kind)
    ]


def describe_line(log: LogFile, moment: float | None, text: str) -> dict[str, Any]:
    time = None if moment is None else datetime.fromtimestamp(moment, UTC)
    return {"source": log.source, "stream": log.kind, "time": time, "text": text}


def describe_match(match: MergedMatch) -> dict[str, Any]:
    return describe_line(match.log, match.time, match.text) | {"line": match.line}
