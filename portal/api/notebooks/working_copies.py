"""The files and packages of a person's notebooks over REST: they become a version of the code, and an environment."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.services.notebooks import kept_packages, working_copies
from portal.api.environments.environment_answers import DescribedEnvironment, read_described
from portal.api.schemas import RequestSchema, ResponseSchema
from portal.api.trainings import blueprint
from portal.web.request_context import current_actor, current_cluster


class SaveBody(RequestSchema):
    overwrite = fields.Boolean(
        load_default=False, metadata={"description": "Also if a newer version was made since the files began"}
    )


class SavedAnswer(ResponseSchema):
    version = fields.Integer(required=True)
    is_new = fields.Boolean(required=True)


@blueprint.route("/<int:training_id>/working-copy/save")
class SaveWorkingCopy(MethodView):
    @blueprint.arguments(SaveBody)
    @blueprint.response(200, SavedAnswer)
    def post(self, body: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Make your files of a notebook the newest version. For the owner and the workspace's manager."""
        saved = working_copies.save_as_version(
            current_cluster(), current_actor(), training_id, body["overwrite"]
        )
        return {"version": saved.version, "is_new": saved.is_new}


class PackagesBody(RequestSchema):
    name = fields.String(required=True, validate=validate.Length(max=200))
    description = fields.String(load_default="", validate=validate.Length(max=2000))


@blueprint.route("/<int:training_id>/working-copy/environment")
class WorkingCopyEnvironment(MethodView):
    @blueprint.arguments(PackagesBody)
    @blueprint.response(201, DescribedEnvironment)
    def post(self, body: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Ask for an environment with what you have installed by pip in notebooks of this training.

        The manager of the workspace approves it; if a manager or an administrator asks, it is built at once.
        """
        made = kept_packages.ask_for_environment(
            current_cluster(), current_actor(), training_id, body["name"], body["description"]
        )
        return read_described(made.id)
