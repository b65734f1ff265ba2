"""Images over REST: what a job finds where it runs."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields

from cluster import words
from cluster.domain.images import DefaultImage
from cluster.services.images import default_images, environments
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import ResponseSchema
from portal.i18n.translate import request_language
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("images", "Default images, and the training environment of the master.")


class PartAnswer(ResponseSchema):
    library = fields.String(required=True)
    version = fields.String(required=True)
    purpose = fields.String(required=True)


class ImageAnswer(ResponseSchema):
    name = fields.String(required=True)
    variant = fields.String(required=True)
    reference = fields.String(required=True)
    digest = fields.String(required=True)
    size_bytes = fields.Integer(required=True)
    system = fields.String(required=True)
    made_at = fields.AwareDateTime(required=True)
    is_protected = fields.Boolean(required=True)
    contents = fields.List(fields.Nested(PartAnswer), required=True)


class EnvironmentAnswer(ResponseSchema):
    digest = fields.String(required=True)
    state = fields.String(required=True)
    ready_at = fields.AwareDateTime(allow_none=True)
    contents = fields.List(fields.Nested(PartAnswer), required=True)


class ImageList(ResponseSchema):
    items = fields.List(fields.Nested(ImageAnswer), required=True)
    training_environment = fields.Nested(EnvironmentAnswer, allow_none=True)


@blueprint.route("")
class Images(MethodView):
    @blueprint.response(200, ImageList)
    def get(self) -> dict[str, Any]:
        """The default images, and what jobs without an image of their own run in."""
        cluster = current_cluster()
        return {
            "items": [
                describe_image(image)
                for image in default_images.list_default_images(cluster, current_actor())
            ],
            "training_environment": describe_environment(),
        }


def describe_image(image: DefaultImage) -> dict[str, Any]:
    return {
        "name": image.name,
        "variant": image.variant,
        "reference": image.reference,
        "digest": image.digest,
        "size_bytes": image.size,
        "system": image.system,
        "made_at": image.made_at,
        "is_protected": True,
        "contents": [describe_library(*part.line) for part in image.contents],
    }


def describe_environment() -> dict[str, Any] | None:
    environment = environments.read_default_environment(current_cluster())
    if environment is None:
        return None
    return {
        "digest": environment.digest,
        "state": environment.state.value,
        "ready_at": environment.ready_at,
        "contents": [describe_library(*line) for line in environment.contents],
    }


def describe_library(library: str, version: str, purpose: str) -> dict[str, str]:
    purpose_word = words.word("purpose", purpose.removeprefix("purpose."), request_language())
    return {"library": library, "version": version, "purpose": purpose_word}
