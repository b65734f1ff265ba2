"""The files of jobs over REST: a list of a folder, and single files."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.services.jobs import queries
from cluster.services.jobs.file_deletions import require_files
from portal.api.jobs.jobs import blueprint
from portal.api.schemas import IS_ID, FileEntryAnswer, RequestSchema, ResponseSchema
from portal.job_files.written_files import list_folder, split_path
from portal.presenters.jobs.job_page import JobView, read_job_view
from portal.presenters.jobs.written_file_download import send_written_file
from portal.web.request_context import current_actor, current_cluster


class FileQuery(RequestSchema):
    path = fields.String(
        load_default="",
        validate=validate.Length(max=4096),
        metadata={"description": "Below $GROUNDCREW_OUT, with slashes; empty: that folder itself"},
    )
    attempt = fields.Integer(load_default=None, validate=IS_ID)


class FolderAnswer(ResponseSchema):
    """`has_more`: the folder has more entries than are listed; the zip archive on the job's page has them all."""

    attempt = fields.Integer(required=True)
    entries = fields.List(fields.Nested(FileEntryAnswer), required=True)
    has_more = fields.Boolean(required=True)


@blueprint.route("/<int:job_id>/files")
class FileList(MethodView):
    @blueprint.arguments(FileQuery, location="query")
    @blueprint.response(200, FolderAnswer)
    def get(self, query: dict[str, Any], job_id: int) -> dict[str, Any]:
        """List a folder that one attempt wrote, the newest unless another is named."""
        view = read_view_with_files(job_id, query["attempt"])
        try:
            listing = list_folder(view.files.root, *view.files.out, *split_path(query["path"]))
        except (FileMissing, FileNotPlain) as error:
            raise NotFound("file", query["path"][:200]) from error
        return {"attempt": view.number, "entries": listing.entries, "has_more": listing.has_more}


@blueprint.route("/<int:job_id>/files/content")
class FileContent(MethodView):
    @blueprint.arguments(FileQuery, location="query")
    @blueprint.response(200, content_type="application/octet-stream")
    def get(self, query: dict[str, Any], job_id: int) -> Any:
        """One file as it is."""
        return send_written_file(read_view_with_files(job_id, query["attempt"]), query["path"])


def read_view_with_files(job_id: int, attempt: int | None) -> JobView:
    """Raises NotFound, and Gone for files that were deleted."""
    job = queries.read_job(current_cluster(), current_actor(), job_id)
    require_files(job)
    return read_job_view(current_cluster(), job, attempt)
