"""Environments over REST: list, show, add from a requirements file, change, build again and delete them."""

from collections.abc import Sequence
from typing import Any

from flask import url_for
from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.environments.choices import is_too_old
from cluster.domain.environments.requirements import MAX_BYTES
from cluster.services.images import (
    environment_approvals,
    environment_list,
    environment_requests,
    environment_scope,
)
from cluster.services.images.environment_list import NOT_USED, EnvironmentUse
from cluster.services.images.environment_requests import EnvironmentRequest
from cluster.services.images.gpu_support import support_of
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace
from portal.api.blueprint import ApiBlueprint, describe_named, describe_sentence
from portal.api.environments.images import PartAnswer, describe_library
from portal.api.schemas import IS_ID, BooleanField, NamedObject, RequestSchema, ResponseSchema, Sentence
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("environments", "Environments: what jobs run in.")


class EnvironmentQuery(RequestSchema):
    name = fields.String(load_default=None, validate=validate.Length(max=200))


class EnvironmentScopeBody(RequestSchema):
    workspace_ids = fields.List(
        fields.Integer(strict=True, validate=IS_ID),
        load_default=list,
        validate=validate.Length(max=1000),
        metadata={"description": "Who may choose it; empty: every workspace, for administrators"},
    )


class EnvironmentBody(EnvironmentScopeBody):
    name = fields.String(required=True, validate=validate.Length(max=200))
    description = fields.String(load_default="", validate=validate.Length(max=2000))
    requirements = fields.String(
        required=True,
        validate=validate.Length(max=MAX_BYTES + 1),
        metadata={
            "description": "The text of a requirements.txt: packages with their versions, one on each line"
        },
    )
    python = fields.String(
        load_default="",
        validate=validate.Length(max=20),
        metadata={"description": "A version that the machine has, as 3.11; empty: that of its distribution"},
    )
    builds_sources = BooleanField(
        load_default=False, metadata={"description": "Build packages that the index has only as source"}
    )


class EnvironmentChangesBody(RequestSchema):
    """The new values. A field that is left out stays as it is."""

    workspace_ids = fields.List(
        fields.Integer(strict=True, validate=IS_ID), load_default=None, validate=validate.Length(max=1000)
    )
    description = fields.String(load_default=None, validate=validate.Length(max=2000))


class EnvironmentUseAnswer(ResponseSchema):
    trainings = fields.Integer(required=True)
    jobs = fields.Integer(required=True, metadata={"description": "Those that have not ended"})


class EnvironmentSummary(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    digest = fields.String(required=True)
    source = fields.String(required=True)
    state = fields.String(required=True)
    description = fields.String(required=True)
    python = fields.String(required=True)
    is_python_too_old = fields.Boolean(required=True)
    gpu_support = fields.String(required=True)
    size_bytes = fields.Integer(allow_none=True)
    reference = fields.String(required=True, metadata={"description": "By which an image is pulled"})
    workspaces = fields.List(
        fields.Nested(NamedObject),
        required=True,
        metadata={"description": "Those among yours that may choose it; empty: every workspace"},
    )
    use = fields.Nested(EnvironmentUseAnswer, required=True)
    ready_at = fields.AwareDateTime(allow_none=True)
    deleted_at = fields.AwareDateTime(allow_none=True)


class DescribedEnvironment(EnvironmentSummary):
    contents = fields.List(fields.Nested(PartAnswer), required=True)
    requirements = fields.String(allow_none=True)
    pins = fields.String(allow_none=True)
    base_id = fields.Integer(
        allow_none=True,
        metadata={"description": "The environment of which it is a copy with packages on top"},
    )
    operation_id = fields.Integer(allow_none=True)
    error = fields.Nested(Sentence, allow_none=True)


class EnvironmentSummaryList(ResponseSchema):
    items = fields.List(fields.Nested(EnvironmentSummary), required=True)


def summarise_environment(
    row: Environment, use: EnvironmentUse, scope: Sequence[Workspace]
) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "digest": row.digest,
        "source": row.source,
        "state": row.state.value,
        "description": row.description,
        "python": row.python,
        "is_python_too_old": is_too_old(row.python),
        "gpu_support": support_of(row).value,
        "size_bytes": row.size_bytes,
        "reference": row.reference,
        "workspaces": [describe_named(workspace) for workspace in scope],
        "use": {"trainings": use.trainings, "jobs": use.jobs},
        "ready_at": row.ready_at,
        "deleted_at": row.deleted_at,
    }


def read_described(environment_id: int) -> dict[str, Any]:
    cluster, actor = current_cluster(), current_actor()
    row = environment_list.read_environment(cluster, actor, environment_id)
    operation = row.operation
    use = environment_list.read_use(cluster, actor, environment_id)
    scope = environment_list.read_scopes(cluster, actor, [row])[row.id]
    return summarise_environment(row, use, scope) | {
        "contents": [describe_library(*line) for line in row.contents],
        "requirements": row.requirements,
        "pins": row.pins,
        "base_id": row.base_id,
        "operation_id": row.operation_id,
        "error": describe_sentence(operation.error_code, operation.error_data) if operation else None,
    }


@blueprint.route("")
class Environments(MethodView):
    @blueprint.arguments(EnvironmentQuery, location="query")
    @blueprint.response(200, EnvironmentSummaryList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """The environments that you may see: the default one first, then by name."""
        cluster, actor = current_cluster(), current_actor()
        rows = environment_list.list_environments(cluster, actor)
        uses, scopes = (
            environment_list.read_use_counts(cluster),
            environment_list.read_scopes(cluster, actor, rows),
        )
        found = [row for row in rows if query["name"] in (None, row.name)]
        return {
            "items": [summarise_environment(row, uses.get(row.id, NOT_USED), scopes[row.id]) for row in found]
        }

    @blueprint.arguments(EnvironmentBody)
    @blueprint.response(201, DescribedEnvironment)
    def post(self, body: dict[str, Any]) -> Any:
        """Add an environment from a requirements file; it is built afterwards. For managers and administrators."""
        request = EnvironmentRequest(
            name=body["name"],
            requirements=body["requirements"],
            description=body["description"],
            python=body["python"],
            builds_sources=body["builds_sources"],
            workspace_ids=body["workspace_ids"],
        )
        made = environment_requests.add_environment(current_cluster(), current_actor(), request)
        place = {"Location": url_for("api_environments.OneEnvironment", environment_id=made.id)}
        return read_described(made.id), 201, place


@blueprint.route("/<int:environment_id>")
class OneEnvironment(MethodView):
    @blueprint.response(200, DescribedEnvironment)
    def get(self, environment_id: int) -> dict[str, Any]:
        """One environment with everything that is in it."""
        return read_described(environment_id)


@blueprint.route("/<int:environment_id>")
class ChangeEnvironment(MethodView):
    @blueprint.arguments(EnvironmentChangesBody)
    @blueprint.response(200, DescribedEnvironment)
    def patch(self, body: dict[str, Any], environment_id: int) -> dict[str, Any]:
        """Change who may choose it."""
        environment_scope.change_scope(
            current_cluster(), current_actor(), environment_id, body["workspace_ids"], body["description"]
        )
        return read_described(environment_id)

    @blueprint.response(204)
    def delete(self, environment_id: int) -> None:
        """Delete an environment that no training names and in which no live job runs."""
        environment_requests.delete_environment(current_cluster(), current_actor(), environment_id)


@blueprint.route("/<int:environment_id>/rebuild")
class RebuildEnvironment(MethodView):
    @blueprint.response(202, DescribedEnvironment)
    def post(self, environment_id: int) -> dict[str, Any]:
        """Install the same pinned packages again."""
        environment_requests.rebuild_environment(current_cluster(), current_actor(), environment_id)
        return read_described(environment_id)


@blueprint.route("/<int:environment_id>/approve")
class ApproveEnvironment(MethodView):
    @blueprint.response(202, DescribedEnvironment)
    def post(self, environment_id: int) -> dict[str, Any]:
        """Build an environment that somebody has asked for from a notebook. For managers and administrators."""
        environment_approvals.approve_environment(current_cluster(), current_actor(), environment_id)
        return read_described(environment_id)


@blueprint.route("/<int:environment_id>/decline")
class DeclineEnvironment(MethodView):
    @blueprint.response(204)
    def post(self, environment_id: int) -> None:
        """Decline an environment that somebody has asked for. Its name is free again."""
        environment_approvals.decline_environment(current_cluster(), current_actor(), environment_id)


@blueprint.route("/<int:environment_id>/cancel")
class CancelEnvironmentBuild(MethodView):
    @blueprint.response(200, DescribedEnvironment)
    def post(self, environment_id: int) -> dict[str, Any]:
        """Cancel the build."""
        environment_requests.cancel_build(current_cluster(), current_actor(), environment_id)
        return read_described(environment_id)
