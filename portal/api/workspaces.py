"""Workspaces over REST: lists them with quota, term and storage; administrators limit the storage."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields

from cluster import words
from cluster.domain.workspace_terms import workspace_state
from cluster.services.storage.workspace_storage import set_storage_limit
from cluster.services.workspaces import queries
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import RequestSchema, ResponseSchema, WorkspaceList
from portal.i18n.translate import request_language
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("workspaces", "Workspaces: units held for a term.")


class StorageLimitBody(RequestSchema):
    limit_bytes = fields.Integer(
        required=True, allow_none=True, strict=True, metadata={"description": "null takes the limit away"}
    )


class StorageAnswer(ResponseSchema):
    workspace = fields.String(required=True)
    limit_bytes = fields.Integer(allow_none=True)
    used_bytes = fields.Integer(allow_none=True)
    measured_at = fields.AwareDateTime(allow_none=True)


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
                    "storage_limit_bytes": row.storage_limit_bytes,
                    "storage_used_bytes": row.storage_used_bytes,
                    "manager": row.manager.name,
                }
            )
        return {"items": items}


@blueprint.route("/<int:workspace_id>/storage-limit")
class StorageLimit(MethodView):
    @blueprint.arguments(StorageLimitBody)
    @blueprint.response(200, StorageAnswer)
    def post(self, body: dict[str, Any], workspace_id: int) -> dict[str, Any]:
        """Limits what the workspace may store. For administrators. What is stored already stays."""
        storage = set_storage_limit(
            current_cluster(), current_actor(), workspace_id, body["limit_bytes"], "limit_bytes"
        )
        return {
            "workspace": storage.workspace,
            "limit_bytes": storage.limit,
            "used_bytes": storage.used,
            "measured_at": storage.measured_at,
        }
