"""REST under /api/v1: the same services as the pages, described as OpenAPI 3.1."""

from http import HTTPStatus
from typing import Any

from flask import Flask
from flask_smorest import Api
from marshmallow import Schema, fields

from cluster.portal_paths import API
from portal.api import (
    accounting,
    dataset_files,
    dataset_uploads,
    datasets,
    heartbeats,
    node_units,
    nodes,
    queue,
    repairs,
    trainings,
    workspaces,
)
from portal.api.code import code_archives, git_source, training_code
from portal.api.environments import environments, images
from portal.api.jobs import job_files, job_log, job_logs, job_metrics, jobs, runs
from portal.api.notebooks import notebooks, working_copies
from portal.api.people import notifications, ssh_door, ssh_keys
from portal.api.sweeps import sweeps

FEATURES = (
    jobs,
    job_log,
    job_files,
    job_logs,
    job_metrics,
    runs,
    queue,
    sweeps,
    accounting,
    nodes,
    node_units,
    heartbeats,
    workspaces,
    trainings,
    training_code,
    git_source,
    code_archives,
    datasets,
    dataset_files,
    dataset_uploads,
    environments,
    images,
    notifications,
    ssh_keys,
    ssh_door,
    repairs,
    notebooks,
    working_copies,
)


PROBLEM = "application/problem+json"
RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds until another try",
        "required": True,
        "schema": {"type": "integer"},
    }
}
HEADERS_OF_PROBLEMS = {
    401: {"WWW-Authenticate": {"description": "Bearer", "required": True, "schema": {"type": "string"}}},
    429: RETRY_AFTER,
    503: RETRY_AFTER,
}


class FieldProblemSchema(Schema):
    """The problem of one field of a request."""

    pointer = fields.String(required=True, metadata={"description": "JSON Pointer of the field (RFC 6901)"})
    code = fields.String(required=True)
    message = fields.String(required=True, metadata={"description": "A sentence in the caller's language"})


class ProblemSchema(Schema):
    """A problem as in RFC 9457. `code` is the same in each language; `title` and `detail` are in the caller's."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    code = fields.String(required=True)
    request_id = fields.String(required=True)
    errors = fields.List(fields.Nested(FieldProblemSchema))


class PortalApi(Api):  # type: ignore[misc]
    """Leaves errors to the portal's one handler, which answers /api with problem+json."""

    DEFAULT_ERROR_RESPONSE_NAME = None
    """Each operation names the statuses with which it refuses (`blueprint.refused_statuses`)."""

    def _register_error_handlers(self) -> None:
        pass

    def _register_responses(self) -> None:
        """Registers the answers of refusals under the names by which operations refer to them."""
        for status in HTTPStatus:
            if status >= 400:
                problem: dict[str, Any] = {
                    "description": status.phrase,
                    "content": {PROBLEM: {"schema": ProblemSchema}},
                }
                if status in HEADERS_OF_PROBLEMS:
                    problem["headers"] = HEADERS_OF_PROBLEMS[status]
                self.spec.components.response(status.name, problem, lazy=True)


def init_app(app: Flask) -> PortalApi:
    app.config.update(
        API_TITLE="Groundcrew",
        API_VERSION="v1",
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX=API,
        OPENAPI_JSON_PATH="openapi.json",
    )
    api = PortalApi(app)
    scheme: dict[str, Any] = {
        "type": "http",
        "scheme": "bearer",
        "description": "A token from your profile page.",
    }
    api.spec.components.security_scheme("token", scheme)
    api.spec.options["security"] = [{"token": []}]
    # Modules of one feature share its blueprint.
    for blueprint in dict.fromkeys(feature.blueprint for feature in FEATURES):
        api.register_blueprint(blueprint, url_prefix=f"{API}/{blueprint.url_name}")
    return api
