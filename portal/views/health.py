"""Answers health checks, and logs violations of the Content-Security-Policy that browsers report."""

import structlog
from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import text

from portal.web.request_context import current_cluster

log = structlog.get_logger()
blueprint = Blueprint("health", __name__)

LONGEST_REPORT = 8 * 1024


@blueprint.get("/health")
def health() -> ResponseReturnValue:
    """200 while the database answers."""
    with current_cluster().store.read() as session:
        session.execute(text("SELECT 1"))
    return jsonify(status="ok", version=current_cluster().settings.version)


@blueprint.post("/csp-report")
def csp_report() -> ResponseReturnValue:
    """Only logged: anybody can send anything here."""
    report = (
        request.get_data(cache=False)[:LONGEST_REPORT]
        if (request.content_length or 0) <= LONGEST_REPORT
        else b""
    )
    log.warning("content security policy", report=report.decode("utf-8", "replace"))
    return "", 204
