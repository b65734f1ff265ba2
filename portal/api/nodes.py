"""Nodes over REST."""

from typing import Any

from flask.views import MethodView

from cluster import words
from cluster.services import nodes
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import NodeList
from portal.current import current_actor, current_cluster
from portal.i18n import language

blueprint = ApiBlueprint("nodes", "Nodes with their units.")


@blueprint.route("")
class Nodes(MethodView):
    @blueprint.response(200, NodeList)
    def get(self) -> dict[str, Any]:
        """All nodes, by name."""
        views = nodes.unit_map(current_cluster(), current_actor())
        return {"items": [describe(view) for view in views]}


def describe(view: nodes.NodeView) -> dict[str, Any]:
    return {
        "id": view.id,
        "name": view.name,
        "state": view.state.value,
        "state_word": words.word("state.node", view.state.value, language()),
        "units": len(view.units),
        "units_free": sum(unit.is_free for unit in view.units),
        "unit_kind": view.kind.value,
        "heartbeat_at": view.heartbeat_at,
    }
