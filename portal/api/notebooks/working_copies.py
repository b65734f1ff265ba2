"""The files of a person's notebooks over REST: they become a version of the training's code."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields

from cluster.services.notebooks import working_copies
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
