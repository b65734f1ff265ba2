"""The code of a training over REST: versions, their files, new versions, and the difference between two."""

from typing import Any

from flask import Response
from flask.views import MethodView
from marshmallow import fields, validate

from cluster.services import code_versions, trainings
from cluster.store.trainings import CodeVersion
from portal.api.blueprint import describe_sentence
from portal.api.code.code_files import CodeFileBody, decode_files
from portal.api.code.commits import describe_commit
from portal.api.schemas import IS_ID, CommitAnswer, RequestSchema, ResponseSchema, Sentence
from portal.api.trainings import blueprint
from portal.presenters.training_code import compare_versions, print_comparison
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.file_responses import requested_range, send_file_so_far


class CodeVersionAnswer(ResponseSchema):
    number = fields.Integer(required=True)
    state = fields.String(required=True)
    source = fields.String(required=True)
    base = fields.Integer(allow_none=True)
    files = fields.Integer(allow_none=True)
    bytes = fields.Integer(allow_none=True)
    created_by = fields.String(required=True)
    created_at = fields.AwareDateTime(required=True)
    commit = fields.Nested(
        CommitAnswer, allow_none=True, metadata={"description": "Null unless it came from git"}
    )
    error = fields.Nested(Sentence, allow_none=True)


class CodeVersionList(ResponseSchema):
    items = fields.List(fields.Nested(CodeVersionAnswer), required=True)


class CodeFileAnswer(ResponseSchema):
    path = fields.String(required=True)
    bytes = fields.Integer(required=True, attribute="size")
    sha256 = fields.String(required=True)


class CodeTreeAnswer(ResponseSchema):
    number = fields.Integer(required=True)
    files = fields.List(fields.Nested(CodeFileAnswer), required=True)


class CodeUploadBody(RequestSchema):
    """Files replace those of the same path in the newest version; all others stay unless they are removed."""

    files = fields.List(fields.Nested(CodeFileBody), load_default=list)
    removed = fields.List(fields.String(), load_default=list, validate=validate.Length(max=10_000))
    base = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        validate=validate.Range(0),
        metadata={"description": "The newest version that you know: refused if there is a newer one"},
    )


class CodePathQuery(RequestSchema):
    path = fields.String(required=True, validate=validate.Length(max=4000))


class CompareQuery(RequestSchema):
    before = fields.Integer(required=True, validate=IS_ID)
    after = fields.Integer(required=True, validate=IS_ID)


def describe_version(version: CodeVersion) -> dict[str, Any]:
    return {
        "number": version.number,
        "state": version.state.value,
        "source": version.source,
        "base": version.base,
        "files": version.files,
        "bytes": version.bytes,
        "created_by": version.creator.name,
        "created_at": version.created_at,
        "commit": describe_commit(version),
        "error": describe_sentence(version.error_code, version.error_data),
    }


@blueprint.route("/<int:training_id>/code")
class CodeVersions(MethodView):
    @blueprint.response(200, CodeVersionList)
    def get(self, training_id: int) -> dict[str, Any]:
        """The versions of a training's code, newest first."""
        cluster = current_cluster()
        training = trainings.read_training(cluster, current_actor(), training_id)
        return {
            "items": [describe_version(one) for one in code_versions.list_code_versions(cluster, training)]
        }


@blueprint.route("/<int:training_id>/code")
class NewCodeVersion(MethodView):
    @blueprint.arguments(CodeUploadBody)
    @blueprint.response(201, CodeVersionAnswer)
    def post(self, body: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Make a new version. For the training's owner and the workspace's manager."""
        cluster, actor = current_cluster(), current_actor()
        made = trainings.upload_code(
            cluster, actor, training_id, decode_files(body["files"]), body["removed"], body["base"]
        )
        training = trainings.read_training(cluster, actor, training_id)
        rows = code_versions.list_code_versions(cluster, training)
        return describe_version(next(row for row in rows if row.number == made.number))


@blueprint.route("/<int:training_id>/code/<int:number>")
class CodeTree(MethodView):
    @blueprint.response(200, CodeTreeAnswer)
    def get(self, training_id: int, number: int) -> dict[str, Any]:
        """The files of one version."""
        cluster = current_cluster()
        training = trainings.read_training(cluster, current_actor(), training_id)
        return {"number": number, "files": code_versions.read_manifest(cluster, training, number)}


@blueprint.route("/<int:training_id>/code/<int:number>/content")
class CodeContent(MethodView):
    @blueprint.arguments(CodePathQuery, location="query")
    @blueprint.response(200, content_type="application/octet-stream")
    def get(self, query: dict[str, Any], training_id: int, number: int) -> Any:
        """One file as it is."""
        cluster = current_cluster()
        training = trainings.read_training(cluster, current_actor(), training_id)
        with code_versions.open_code_file(cluster.settings, training, number, query["path"]) as file:
            return send_file_so_far(file, "application/octet-stream", requested_range())


@blueprint.route("/<int:training_id>/code/difference")
class CodeComparison(MethodView):
    @blueprint.arguments(CompareQuery, location="query")
    @blueprint.response(200, content_type="text/plain")
    def get(self, query: dict[str, Any], training_id: int) -> Response:
        """Returns the differences of two versions, as `diff -u` says it; of very long files only that they differ."""
        cluster = current_cluster()
        training = trainings.read_training(cluster, current_actor(), training_id)
        text = print_comparison(compare_versions(cluster, training, query["before"], query["after"]))
        return Response(text, content_type="text/plain; charset=utf-8")
