"""Archives of datasets over REST: checked before they are sent, then taken in as the page takes them."""

from typing import Any

from flask import url_for
from flask.views import MethodView
from flask_smorest.fields import Upload
from marshmallow import fields, validate

from cluster.services import datasets
from portal.api.datasets import describe_dataset
from portal.api.schemas import DatasetAnswer, RequestSchema, ResponseSchema
from portal.api.workspaces import blueprint
from portal.web import uploads
from portal.web.request_context import current_actor, current_cluster


class UploadCheckBody(RequestSchema):
    name = fields.String(load_default="", validate=validate.Length(max=200))
    archive_name = fields.String(required=True, validate=validate.Length(min=1, max=1000))
    size = fields.Integer(required=True, strict=True, validate=validate.Range(0))


class UploadCheckAnswer(ResponseSchema):
    name = fields.String(
        required=True, metadata={"description": "The given name, or one that the archive's proposes"}
    )
    limit_bytes = fields.Integer(required=True)


class UploadForm(RequestSchema):
    archive = Upload(required=True)
    name = fields.String(required=True, validate=validate.Length(max=200))


@blueprint.route("/<int:workspace_id>/datasets/check")
class DatasetUploadCheck(MethodView):
    @blueprint.arguments(UploadCheckBody)
    @blueprint.response(200, UploadCheckAnswer)
    def post(self, body: dict[str, Any], workspace_id: int) -> dict[str, Any]:
        """Returns what would refuse an upload, before a byte of the archive is sent. Without a name one is proposed."""
        cluster = current_cluster()
        name = body["name"] or datasets.suggest_dataset_name(body["archive_name"])
        datasets.check_upload(
            cluster, current_actor(), workspace_id, name, body["archive_name"], body["size"]
        )
        return {"name": name, "limit_bytes": cluster.settings.upload_limit_bytes}


@blueprint.route("/<int:workspace_id>/datasets")
class DatasetUploads(MethodView):
    @blueprint.arguments(UploadForm, location="files")
    @blueprint.response(201, DatasetAnswer)
    def post(self, form: dict[str, Any], workspace_id: int) -> Any:
        """Upload an archive (zip, tar, tar.gz, tar.bz2, tar.xz) as a dataset, in multipart/form-data."""
        cluster, actor = current_cluster(), current_actor()
        archive = form["archive"]
        dataset = datasets.create_upload(
            cluster,
            actor,
            workspace_id,
            form["name"],
            uploads.file_name(archive),
            uploads.saved_path(archive),
        )
        place = {"Location": url_for("api_datasets.OneDataset", dataset_id=dataset.id)}
        return describe_dataset(datasets.read_dataset(cluster, actor, dataset.id)), 201, place
