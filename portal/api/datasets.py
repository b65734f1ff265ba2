"""Datasets over REST: list, show, make, rename and delete them."""

from typing import Any

from flask import url_for
from flask.views import MethodView
from marshmallow import ValidationError, fields, validate, validates_schema

from cluster.services import datasets
from cluster.store.datasets import Dataset
from portal.api.blueprint import ApiBlueprint, describe_named
from portal.api.schemas import IS_ID, BooleanField, DatasetAnswer, DatasetList, NameQuery, RequestSchema
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("datasets", "Datasets: what trainings read.")


class DatasetBody(RequestSchema):
    """A folder of this installation's storage with a name, or the sample digits."""

    workspace_id = fields.Integer(required=True, strict=True, validate=IS_ID)
    name = fields.String(load_default="", validate=validate.Length(max=200))
    path = fields.String(load_default=None, allow_none=True, validate=validate.Length(max=2000))
    sample = BooleanField(load_default=False)

    @validates_schema
    def check_way(self, body: dict[str, Any], **kwargs: Any) -> None:
        if (body["path"] is None) is not body["sample"]:
            raise ValidationError("Give either a path or sample.", "path")


class DatasetChangesBody(RequestSchema):
    """Fields that are left out stay as they are."""

    name = fields.String(load_default=None, validate=validate.Length(max=200))


def describe_dataset(row: Dataset) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "state": row.state.value,
        "workspace": describe_named(row.workspace),
        "files": row.files,
        "bytes": row.bytes,
    }


@blueprint.route("")
class Datasets(MethodView):
    @blueprint.arguments(NameQuery, location="query")
    @blueprint.response(200, DatasetList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Datasets that you may see, newest first."""
        rows = datasets.list_datasets(current_cluster(), current_actor(), query["workspace_id"])
        return {"items": [describe_dataset(row) for row in rows if query["name"] in (None, row.name)]}

    @blueprint.arguments(DatasetBody)
    @blueprint.response(201, DatasetAnswer)
    def post(self, body: dict[str, Any]) -> Any:
        """Register a folder, or write the sample digits. Archives go to `/workspaces/<id>/datasets`."""
        cluster, actor = current_cluster(), current_actor()
        if body["sample"]:
            dataset = datasets.create_sample(cluster, actor, body["workspace_id"])
        else:
            dataset = datasets.register_path(cluster, actor, body["workspace_id"], body["name"], body["path"])
        place = {"Location": url_for("api_datasets.OneDataset", dataset_id=dataset.id)}
        return describe_dataset(datasets.read_dataset(cluster, actor, dataset.id)), 201, place


@blueprint.route("/<int:dataset_id>")
class OneDataset(MethodView):
    @blueprint.response(200, DatasetAnswer)
    def get(self, dataset_id: int) -> dict[str, Any]:
        """One dataset."""
        return describe_dataset(datasets.read_dataset(current_cluster(), current_actor(), dataset_id))


@blueprint.route("/<int:dataset_id>")
class ChangeDataset(MethodView):
    @blueprint.arguments(DatasetChangesBody)
    @blueprint.response(200, DatasetAnswer)
    def patch(self, body: dict[str, Any], dataset_id: int) -> dict[str, Any]:
        """Rename a dataset. For its maker and the workspace's manager."""
        cluster, actor = current_cluster(), current_actor()
        dataset = datasets.read_dataset(cluster, actor, dataset_id)
        datasets.rename_dataset(
            cluster, actor, dataset_id, dataset.name if body["name"] is None else body["name"]
        )
        return describe_dataset(datasets.read_dataset(cluster, actor, dataset_id))

    @blueprint.response(204)
    def delete(self, dataset_id: int) -> None:
        """Delete a dataset that no live job reads. Registered files stay where they are."""
        datasets.delete_dataset(current_cluster(), current_actor(), dataset_id)
