"""Workspaces over REST: lists them with quota and term."""

from typing import Any

from flask.views import MethodView

from cluster import words
from cluster.domain.workspace_terms import workspace_state
from cluster.services.workspaces import queries
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import WorkspaceList
from portal.i18n.translate import request_language
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("workspaces", "Workspaces: units held for a term.")


@blueprint.route("")
class Workspaces(MethodView):
    @blueprint.response(200, WorkspaceList)
    def get(self) -> dict[str, Any]:
        """Workspaces in which you work."""
        cluster = current_cluster()
        rows = queries.list_workspaces(cluster, current_actor())
        use = queries.read_units_in_use_of(cluster, [row.id for row in rows])
        now, zone = cluster.clock(), cluster.settings.zone
        items = []
        for row in rows:
            state = workspace_state(row, now, zone).value
            items.append(
                {
                    "id": row.id,
                    "name": row.name,
                    "description": row.description,
                    "state": state,
                    "state_word": words.word("state.workspace", state, request_language()),
                    "starts_on": row.starts_on,
                    "ends_on": row.ends_on,
                    "units": row.units,
                    "units_in_use": use.get(row.id, 0),
                    "manager": row.manager.name,
                }
            )
        return {"items": items}
