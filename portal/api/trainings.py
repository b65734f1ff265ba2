"""Trainings over REST: lists them, so that the command finds one by its name."""

from typing import Any

from flask.views import MethodView

from cluster.services import trainings
from portal.api.blueprint import ApiBlueprint, describe_named
from portal.api.schemas import NameQuery, TrainingList
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("trainings", "Trainings: what jobs are made from.")


@blueprint.route("")
class Trainings(MethodView):
    @blueprint.arguments(NameQuery, location="query")
    @blueprint.response(200, TrainingList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Trainings that you may see, newest first."""
        rows = trainings.list_trainings(current_cluster(), current_actor(), query["workspace_id"])
        return {
            "items": [
                {
                    "id": row.id,
                    "name": row.name,
                    "kind": row.kind.value,
                    "model": row.model,
                    "workspace": describe_named(row.workspace),
                    "owner": row.owner.name,
                }
                for row in rows
                if query["name"] in (None, row.name)
            ]
        }
