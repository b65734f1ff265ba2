"""The files of datasets over REST: a list of a folder, and single files."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.services.datasets import read_dataset_files
from portal.api.datasets import blueprint
from portal.api.schemas import FileEntryAnswer, RequestSchema, ResponseSchema
from portal.job_files.written_files import list_folder, split_path
from portal.presenters.file_downloads import send_file_below
from portal.web.request_context import current_actor, current_cluster


class DatasetFileQuery(RequestSchema):
    path = fields.String(
        load_default="",
        validate=validate.Length(max=4096),
        metadata={"description": "Below $GROUNDCREW_DATASET, with slashes; empty: that folder itself"},
    )


class DatasetFolderAnswer(ResponseSchema):
    """`has_more`: the folder has more entries than are listed; the zip archive on the page of the dataset's files has
    them all.
    """

    entries = fields.List(fields.Nested(FileEntryAnswer), required=True)
    has_more = fields.Boolean(required=True)


@blueprint.route("/<int:dataset_id>/files")
class DatasetFileList(MethodView):
    @blueprint.arguments(DatasetFileQuery, location="query")
    @blueprint.response(200, DatasetFolderAnswer)
    def get(self, query: dict[str, Any], dataset_id: int) -> dict[str, Any]:
        """List a folder of a dataset that is ready."""
        _, files = read_dataset_files(current_cluster(), current_actor(), dataset_id)
        try:
            listing = list_folder(files.root, *files.top, *split_path(query["path"]), reader=files.reader)
        except (FileMissing, FileNotPlain) as error:
            raise NotFound("file", query["path"][:200]) from error
        return {"entries": listing.entries, "has_more": listing.has_more}


@blueprint.route("/<int:dataset_id>/files/content")
class DatasetFileContent(MethodView):
    @blueprint.arguments(DatasetFileQuery, location="query")
    @blueprint.response(200, content_type="application/octet-stream")
    def get(self, query: dict[str, Any], dataset_id: int) -> Any:
        """One file as it is."""
        dataset, files = read_dataset_files(current_cluster(), current_actor(), dataset_id)
        return send_file_below(files.root, files.top, query["path"], dataset.name, files.reader)
