"""A training's code as one archive over REST: checked before it is sent, then unpacked as a new version."""

from typing import Any

from flask.views import MethodView
from flask_smorest.fields import Upload
from marshmallow import fields, validate

from cluster.domain.errors import Refused
from cluster.services import code_uploads, code_versions, trainings
from portal.api.code.training_code import CodeVersionAnswer, describe_version
from portal.api.schemas import RequestSchema, ResponseSchema
from portal.api.trainings import blueprint
from portal.web import uploads
from portal.web.request_context import current_actor, current_cluster

BASE = {"description": "The newest version that you know: refused if there is a newer one"}


class CodeArchiveForm(RequestSchema):
    archive = Upload(required=True)
    base = fields.Integer(load_default=None, validate=validate.Range(0), metadata=BASE)


class CodeArchiveCheckBody(RequestSchema):
    archive_name = fields.String(required=True, validate=validate.Length(min=1, max=1000))
    size = fields.Integer(required=True, strict=True, validate=validate.Range(0))
    base = fields.Integer(
        load_default=None, allow_none=True, strict=True, validate=validate.Range(0), metadata=BASE
    )


class CodeArchiveCheckAnswer(ResponseSchema):
    limit_bytes = fields.Integer(required=True)


@blueprint.route("/<int:training_id>/code/archive/check")
class CodeArchiveCheck(MethodView):
    @blueprint.arguments(CodeArchiveCheckBody)
    @blueprint.response(200, CodeArchiveCheckAnswer)
    def post(self, body: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Returns what would refuse an archive of code, before a byte of it is sent."""
        cluster, actor = current_cluster(), current_actor()
        if body["size"] > uploads.CODE_BYTES:
            raise Refused("archive", "archive.over_limit", size=body["size"], limit=uploads.CODE_BYTES)
        training = trainings.read_training(cluster, actor, training_id)
        code_uploads.check_archive(cluster, actor, training, body["archive_name"], body["size"], body["base"])
        return {"limit_bytes": uploads.CODE_BYTES}


@blueprint.route("/<int:training_id>/code/archive")
class CodeArchives(MethodView):
    @blueprint.arguments(CodeArchiveForm, location="files")
    @blueprint.response(201, CodeVersionAnswer)
    def post(self, form: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Upload an archive as a new version, in multipart/form-data. It is unpacked in the background."""
        cluster, actor = current_cluster(), current_actor()
        archive = form["archive"]
        name = uploads.file_name(archive)
        if not code_uploads.is_archive(name):
            raise Refused("archive", "code.no_archive", name=name)
        with archive.stream as stream:
            files = [(name, stream.read())]
        made = trainings.upload_code(cluster, actor, training_id, files, (), form["base"])
        training = trainings.read_training(cluster, actor, training_id)
        rows = code_versions.list_code_versions(cluster, training)
        return describe_version(next(row for row in rows if row.number == made.number))
