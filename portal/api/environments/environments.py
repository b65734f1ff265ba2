"""Environments over REST: list, show, add from a requirements file, change, build again and delete them."""

from typing import Any

from flask import url_for
from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.environments.requirements import MAX_BYTES
from cluster.services.images import (
    environment_approvals,
    environment_builds,
    environment_deletion,
    environment_list,
    environment_requests,
    environment_scope,
    environment_use,
)
from cluster.services.images.environment_rows import EnvironmentRequest
from cluster.services.images.environment_use import NOT_USED
from portal.api.blueprint import ApiBlueprint
from portal.api.environments.environment_answers import (
    DescribedEnvironment,
    EnvironmentSummaryList,
    read_described,
    summarise_environment,
)
from portal.api.schemas import IS_ID, BooleanField, RequestSchema
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


@blueprint.route("")
class Environments(MethodView):
    @blueprint.arguments(EnvironmentQuery, location="query")
    @blueprint.response(200, EnvironmentSummaryList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """The environments that you may see: the default one first, then by name."""
        cluster, actor = current_cluster(), current_actor()
        rows = environment_list.list_environments(cluster, actor)
        uses, scopes = (
            environment_use.read_use_counts(cluster),
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
        environment_deletion.delete_environment(current_cluster(), current_actor(), environment_id)


@blueprint.route("/<int:environment_id>/rebuild")
class RebuildEnvironment(MethodView):
    @blueprint.response(202, DescribedEnvironment)
    def post(self, environment_id: int) -> dict[str, Any]:
        """Install the same pinned packages again."""
        environment_builds.rebuild_environment(current_cluster(), current_actor(), environment_id)
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
        environment_builds.cancel_build(current_cluster(), current_actor(), environment_id)
        return read_described(environment_id)
