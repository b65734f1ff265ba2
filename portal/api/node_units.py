"""The units of all nodes over REST, with what each GPU does now."""

from dataclasses import asdict
from typing import Any

from flask.views import MethodView

from cluster.domain.nodes.gpu_load import GpuLoad
from cluster.services.nodes.queries import NodeView, UnitView, list_nodes
from portal.api.node_schemas import UnitList
from portal.api.nodes import blueprint
from portal.web.request_context import current_actor, current_cluster


@blueprint.route("/units")
class Units(MethodView):
    @blueprint.response(200, UnitList)
    def get(self) -> dict[str, Any]:
        """Every unit of every node, with the job that holds it and what a GPU does now."""
        nodes = list_nodes(current_cluster(), current_actor())
        return {"items": [describe_unit(node, unit) for node in nodes for unit in node.units]}


def describe_unit(node: NodeView, view: UnitView) -> dict[str, Any]:
    unit, load = view.unit, node.gpu_loads.get(view.unit.identity, GpuLoad())
    return {
        "node": node.name,
        "position": unit.position,
        "identity": unit.identity,
        "kind": unit.kind.value,
        "model": unit.model,
        "state": unit.state.value,
        "simulated": unit.simulated,
        "job_id": view.job_id,
        "memory_bytes": unit.memory_bytes,
        **asdict(load),
    }
