"""Datasets over REST: lists them, so that the command finds one by its name."""

from typing import Any

from flask.views import MethodView

from cluster.services import datasets
from portal.api.blueprint import ApiBlueprint, describe_named
from portal.api.schemas import DatasetList, NameQuery
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("datasets", "Datasets: what trainings read.")


@blueprint.route("")
class Datasets(MethodView):
    @blueprint.arguments(NameQuery, location="query")
    @blueprint.response(200, DatasetList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Datasets that you may see, newest first."""
        rows = datasets.list_datasets(current_cluster(), current_actor(), query["workspace_id"])
        return {
            "items": [
                {
                    "id": row.id,
                    "name": row.name,
                    "state": row.state.value,
                    "workspace": describe_named(row.workspace),
                    "files": row.files,
                    "bytes": row.bytes,
                }
                for row in rows
                if query["name"] in (None, row.name)
            ]
        }
