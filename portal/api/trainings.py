"""Trainings over REST: list, show, make, edit, hand over, archive and delete them."""

from collections.abc import Mapping
from typing import Any

from flask import url_for
from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.jobs.results import LONGEST_METRIC
from cluster.domain.states import TrainingKind, Visibility
from cluster.services import training_changes, trainings
from cluster.services.training_changes import TrainingChanges
from cluster.store.base import LARGEST_ID
from cluster.store.trainings import Training
from portal.api.blueprint import ApiBlueprint, describe_named
from portal.api.code.code_files import CodeFileBody, decode_files
from portal.api.schemas import IS_ID, BooleanField, NameQuery, RequestSchema, ResponseSchema, TrainingAnswer
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("trainings", "Trainings: what jobs are made from.")


class TrainingQuery(NameQuery):
    archived = fields.Boolean(load_default=False, metadata={"description": "Only those in the archive"})


class ObjectiveBody(RequestSchema):
    metric = fields.String(required=True, validate=validate.Length(max=LONGEST_METRIC))
    lower_is_better = BooleanField(load_default=False)


def parse_objective_body(body: Mapping[str, Any] | None) -> tuple[str, bool]:
    return (body["metric"], body["lower_is_better"]) if body else ("", False)


class ObjectiveAnswer(ResponseSchema):
    metric = fields.String(required=True)
    lower_is_better = fields.Boolean(required=True)


class DescribedTraining(TrainingAnswer):
    objective = fields.Nested(ObjectiveAnswer, allow_none=True)


class DescribedTrainingList(ResponseSchema):
    items = fields.List(fields.Nested(DescribedTraining), required=True)


class TrainingBody(RequestSchema):
    """Own code comes as `files`; a built-in model is named instead."""

    workspace_id = fields.Integer(required=True, strict=True, validate=IS_ID)
    name = fields.String(required=True, validate=validate.Length(max=200))
    description = fields.String(load_default="", validate=validate.Length(max=2000))
    model = fields.String(load_default=None, allow_none=True, validate=validate.Length(max=100))
    notebook = fields.Boolean(
        load_default=False,
        metadata={"description": "Own code that is written in JupyterLab; `files` may be empty"},
    )
    visibility = fields.Enum(Visibility, by_value=True, load_default=Visibility.PUBLIC)
    members = fields.List(fields.String(), load_default=list, validate=validate.Length(max=1000))
    objective = fields.Nested(ObjectiveBody, load_default=None, allow_none=True)
    files = fields.List(fields.Nested(CodeFileBody), load_default=list)


class TrainingChangesBody(RequestSchema):
    """Fields that are left out stay as they are."""

    name = fields.String(load_default=None, validate=validate.Length(max=200))
    description = fields.String(load_default=None, validate=validate.Length(max=2000))
    visibility = fields.Enum(Visibility, by_value=True, load_default=None)
    members = fields.List(fields.String(), load_default=None, validate=validate.Length(max=1000))
    owner = fields.String(load_default=None, validate=validate.Length(max=100))
    archived = BooleanField(load_default=None)
    objective = fields.Nested(ObjectiveBody, allow_none=True, metadata={"description": "Null removes it"})
    environment_id = fields.Integer(
        load_default=None,
        strict=True,
        validate=validate.Range(0, LARGEST_ID),
        metadata={"description": "The environment of its new jobs; 0: the default one"},
    )


class DeleteTrainingQuery(RequestSchema):
    job_files = fields.Boolean(
        load_default=False, metadata={"description": "Delete the files of its ended jobs too"}
    )


class DependentsAnswer(ResponseSchema):
    live_jobs = fields.Integer(required=True)
    ended_jobs = fields.Integer(required=True)
    sweeps = fields.Integer(required=True)
    code_versions = fields.Integer(required=True)
    code_bytes = fields.Integer(required=True)
    job_bytes = fields.Integer(required=True)


def describe_training(row: Training) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "kind": row.kind.value,
        "model": row.model,
        "workspace": describe_named(row.workspace),
        "owner": row.owner.name,
        "visibility": row.visibility.value,
        "code_version": row.code_version or None,
        "environment_id": row.environment_id,
        "created_at": row.created_at,
        "archived_at": row.archived_at,
        "objective": {
            "metric": row.objective_metric,
            "lower_is_better": bool(row.objective_is_lower_better),
        }
        if row.objective_metric
        else None,
    }


def read_described(training_id: int) -> dict[str, Any]:
    training = trainings.read_training(current_cluster(), current_actor(), training_id)
    return describe_training(training)


@blueprint.route("")
class Trainings(MethodView):
    @blueprint.arguments(TrainingQuery, location="query")
    @blueprint.response(200, DescribedTrainingList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Trainings that you may see, newest first."""
        rows = trainings.list_trainings(
            current_cluster(), current_actor(), query["workspace_id"], archived=query["archived"]
        )
        return {"items": [describe_training(row) for row in rows if query["name"] in (None, row.name)]}

    @blueprint.arguments(TrainingBody)
    @blueprint.response(201, DescribedTraining)
    def post(self, body: dict[str, Any]) -> Any:
        """Make a training from a built-in model or from code."""
        own = TrainingKind.NOTEBOOK if body["notebook"] else TrainingKind.ADVANCED
        kind = own if body["model"] is None else TrainingKind.BUILT_IN
        training = trainings.create_training(
            current_cluster(),
            current_actor(),
            body["workspace_id"],
            name=body["name"],
            description=body["description"],
            kind=kind,
            model=body["model"],
            visibility=body["visibility"],
            code=decode_files(body["files"]),
            member_names=body["members"],
            objective=parse_objective_body(body["objective"]),
        )
        place = {"Location": url_for("api_trainings.OneTraining", training_id=training.id)}
        return read_described(training.id), 201, place


@blueprint.route("/<int:training_id>")
class OneTraining(MethodView):
    @blueprint.response(200, DescribedTraining)
    def get(self, training_id: int) -> dict[str, Any]:
        """One training."""
        return read_described(training_id)


@blueprint.route("/<int:training_id>")
class ChangeTraining(MethodView):
    @blueprint.arguments(TrainingChangesBody)
    @blueprint.response(200, DescribedTraining)
    def patch(self, body: dict[str, Any], training_id: int) -> dict[str, Any]:
        """Edit, hand over or archive a training. For its owner and the workspace's manager."""
        cluster, actor = current_cluster(), current_actor()
        objective = parse_objective_body(body["objective"]) if "objective" in body else None
        changes = TrainingChanges(
            body["name"],
            body["description"],
            body["visibility"],
            body["members"],
            objective,
            body["environment_id"],
        )
        if changes != TrainingChanges() or (body["owner"] is None and body["archived"] is None):
            training_changes.edit_training(cluster, actor, training_id, changes)
        if body["archived"] is not None:
            training_changes.archive_training(cluster, actor, training_id, body["archived"])
        if body["owner"] is not None:
            training_changes.hand_over_training(cluster, actor, training_id, body["owner"])
        return read_described(training_id)

    @blueprint.arguments(DeleteTrainingQuery, location="query")
    @blueprint.response(204)
    def delete(self, query: dict[str, Any], training_id: int) -> None:
        """Delete a training whose jobs have ended, with its code. Its jobs stay with their numbers."""
        training_changes.delete_training(current_cluster(), current_actor(), training_id, query["job_files"])


@blueprint.route("/<int:training_id>/dependents")
class Dependents(MethodView):
    @blueprint.response(200, DependentsAnswer)
    def get(self, training_id: int) -> Any:
        """Returns what depends on a training, before it is deleted."""
        cluster = current_cluster()
        training = trainings.read_training(cluster, current_actor(), training_id)
        return training_changes.read_dependents(cluster, training)
