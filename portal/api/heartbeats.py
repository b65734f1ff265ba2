"""What agents say about their nodes, each with the token of its own node."""

import json
from typing import Any

from flask import g
from flask.views import MethodView
from marshmallow import ValidationError, fields, validate, validates

from cluster.domain.states import UnitKind, UnitState
from cluster.services.nodes import SeenUnit, record_heartbeat
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import Body
from portal.current import current_cluster

MOST_UNITS = 1024
MOST_FACTS = 65_536
"""Characters, as JSON."""

blueprint = ApiBlueprint("heartbeats", "Agents report their nodes; nobody else may.")


class SeenUnitBody(Body):
    identity = fields.String(required=True, validate=validate.Length(1, 100))
    kind = fields.Enum(UnitKind, by_value=True, required=True)
    position = fields.Integer(required=True, strict=True, validate=validate.Range(0, MOST_UNITS))
    model = fields.String(load_default="", validate=validate.Length(max=100))
    memory_bytes = fields.Integer(
        load_default=None, allow_none=True, strict=True, validate=validate.Range(0, 2**60)
    )
    state = fields.String(
        load_default="ok", validate=validate.OneOf([UnitState.OK.value, UnitState.BROKEN.value])
    )
    simulated = fields.Boolean(load_default=False)
    island = fields.String(load_default=None, allow_none=True, validate=validate.Length(max=64))


class HeartbeatBody(Body):
    boot_id = fields.String(required=True, validate=validate.Length(1, 64))
    facts = fields.Dict(keys=fields.String(), required=True)
    units = fields.List(fields.Nested(SeenUnitBody), required=True, validate=validate.Length(max=MOST_UNITS))

    @validates("facts")
    def are_few(self, value: dict[str, Any], **kwargs: Any) -> None:
        if len(json.dumps(value)) > MOST_FACTS:
            raise ValidationError("These are too many facts.")


@blueprint.route("")
class Heartbeats(MethodView):
    @blueprint.arguments(HeartbeatBody)
    @blueprint.response(204)
    def post(self, body: dict[str, Any]) -> None:
        """The node is the token's; what the body could say about its name or rights is not asked."""
        units = [SeenUnit(**{**unit, "state": UnitState(unit["state"])}) for unit in body["units"]]
        token = g.node_token
        record_heartbeat(
            current_cluster(), token.name, body["boot_id"], body["facts"], units, token.has_executor
        )
