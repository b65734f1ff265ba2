"""Answers health checks, and logs violations of the Content-Security-Policy that browsers report."""

import json

import structlog
from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import text

from portal.web.request_context import current_cluster

log = structlog.get_logger()
blueprint = Blueprint("health", __name__)

LONGEST_REPORT = 8 * 1024
REPORT_FIELDS = ("effective-directive", "violated-directive", "blocked-uri", "document-uri", "line-number")
LONGEST_FIELD = 200
"""Characters of each field that are logged."""


@blueprint.get("/health")
def health() -> ResponseReturnValue:
    """Answers 200 while the database answers."""
    with current_cluster().store.read() as session:
        session.execute(text("SELECT 1"))
    return jsonify(status="ok", version=current_cluster().settings.version)


@blueprint.post("/csp-report")
def csp_report() -> ResponseReturnValue:
    """Logs the report and nothing else, and only the fields that browsers write, because anybody can send anything
    here.
    """
    is_short = (request.content_length or LONGEST_REPORT) <= LONGEST_REPORT
    report = parse_report(request.get_data(cache=False)[:LONGEST_REPORT] if is_short else b"")
    if report:
        log.warning("content security policy", **report)
    return "", 204


def parse_report(content: bytes) -> dict[str, str]:
    """Returns the known fields, cut; none if the body is no report. Addresses lose their queries, which may be
    secret.
    """
    try:
        report = json.loads(content)["csp-report"]
        fields = {name: str(report[name]) for name in REPORT_FIELDS if name in report}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return {name.replace("-", "_"): text.partition("?")[0][:LONGEST_FIELD] for name, text in fields.items()}
