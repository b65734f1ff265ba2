"""The git source of a training over REST: show, set, remove, and pull."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.states import GitCredential
from cluster.services import trainings
from cluster.services.git import git_sources
from cluster.services.git.git_sources import GitSourceChoice
from portal.api.blueprint import describe_sentence
from portal.api.code.commits import describe_commit
from portal.api.schemas import BooleanField, CommitAnswer, RequestSchema, ResponseSchema, Sentence
from portal.api.trainings import blueprint
from portal.presenters.code.git_source_panel import read_git_source_panel
from portal.web.request_context import current_actor, current_cluster


class GitSourceAnswer(ResponseSchema):
    """`url` is null if the training has no source. Tokens and private keys are never returned."""

    url = fields.String(required=True, allow_none=True)
    reference = fields.String()
    folder = fields.String()
    credential = fields.String()
    user_name = fields.String()
    public_key = fields.String(allow_none=True)
    host_key = fields.String(metadata={"description": "Fingerprint of the server's key (ssh)"})
    operation_id = fields.Integer(allow_none=True)
    state = fields.String(allow_none=True, metadata={"description": "State of the newest fetch"})
    error = fields.Nested(Sentence, allow_none=True)
    version = fields.Integer(
        allow_none=True, metadata={"description": "The version with the commit last found"}
    )
    is_new = fields.Boolean(metadata={"description": "False: the last fetch found nothing new"})
    commit = fields.Nested(CommitAnswer, allow_none=True)


class GitSourceBody(RequestSchema):
    """An empty `token` or `private_key` keeps the one that is there for the same repository. Without one a key is
    made.
    """

    url = fields.String(load_default="", validate=validate.Length(max=500))
    reference = fields.String(load_default="", validate=validate.Length(max=200))
    folder = fields.String(load_default="", validate=validate.Length(max=300))
    credential = fields.Enum(GitCredential, by_value=True, load_default=GitCredential.NONE)
    user_name = fields.String(load_default="", validate=validate.Length(max=100))
    token = fields.String(load_default="", validate=validate.Length(max=1000))
    private_key = fields.String(load_default="", validate=validate.Length(max=8000))
    makes_new_key = BooleanField(load_default=False)


def describe_source(training_id: int) -> dict[str, Any]:
    cluster = current_cluster()
    panel = read_git_source_panel(cluster, trainings.read_training(cluster, current_actor(), training_id))
    source, operation = panel.source, panel.operation
    if source is None:
        return {"url": None}
    return {
        "url": source.url,
        "reference": source.reference,
        "folder": source.folder,
        "credential": source.credential.value,
        "user_name": source.user_name,
        "public_key": source.public_key,
        "host_key": panel.host_key,
        "operation_id": source.operation_id,
        "state": operation.state.value if operation else None,
        "error": describe_sentence(operation.error_code, operation.error_data) if operation else None,
        "version": panel.found.number if panel.found else None,
        "is_new": source.is_found_new,
        "commit": describe_commit(panel.found),
    }


@blueprint.route("/<int:training_id>/git")
class TrainingGitSource(MethodView):
    @blueprint.response(200, GitSourceAnswer)
    def get(self, training_id: int) -> dict[str, Any]:
        """Returns where the code comes from, and how the newest fetch ended."""
        return describe_source(training_id)


@blueprint.route("/<int:training_id>/git")
class ChangeTrainingGitSource(MethodView):
    @blueprint.arguments(GitSourceBody)
    @blueprint.response(200, GitSourceAnswer)
    def put(self, body: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Set the source. Nothing is fetched yet."""
        git_sources.set_source(current_cluster(), current_actor(), training_id, GitSourceChoice(**body))
        return describe_source(training_id)

    @blueprint.response(204)
    def delete(self, training_id: int) -> None:
        """Forget the source and its secret. Versions that came from it stay."""
        git_sources.remove_source(current_cluster(), current_actor(), training_id)


@blueprint.route("/<int:training_id>/git/fetch")
class FetchTrainingCode(MethodView):
    @blueprint.response(202, GitSourceAnswer)
    def post(self, training_id: int) -> dict[str, Any]:
        """Fetch: a new commit becomes the next version. `state` and `version` say later how it ended."""
        git_sources.request_fetch(current_cluster(), current_actor(), training_id)
        return describe_source(training_id)
