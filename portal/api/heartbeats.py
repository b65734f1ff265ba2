"""Receives the heartbeats of node agents; each agent identifies itself by the token of its node."""

import json
import unicodedata
from typing import Any

from flask import g
from flask.views import MethodView
from marshmallow import ValidationError, fields, validate, validates

from cluster.domain.states import UnitKind, UnitState
from cluster.services.nodes.heartbeats import ReportedUnit, record_heartbeat
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import RequestSchema
from portal.web.request_context import current_cluster

MAX_UNITS = 1024
MAX_FACTS = 65_536
"""Characters, as JSON."""
MAX_WORD = 64

blueprint = ApiBlueprint("heartbeats", "Agents report their nodes; nobody else may.")


def check_printable(text: str) -> None:
    """Raises ValidationError for what no row can keep: control characters, halves of a character."""
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise ValidationError("Use a text without control characters.")


class SeenUnitBody(RequestSchema):
    identity = fields.String(required=True, validate=[validate.Length(1, 100), check_printable])
    kind = fields.Enum(UnitKind, by_value=True, required=True)
    position = fields.Integer(required=True, strict=True, validate=validate.Range(0, MAX_UNITS))
    model = fields.String(load_default="", validate=[validate.Length(max=100), check_printable])
    memory_bytes = fields.Integer(
        load_default=None, allow_none=True, strict=True, validate=validate.Range(0, 2**60)
    )
    state = fields.String(
        load_default="ok", validate=validate.OneOf([UnitState.OK.value, UnitState.BROKEN.value])
    )
    simulated = fields.Boolean(load_default=False)
    island = fields.String(
        load_default=None, allow_none=True, validate=[validate.Length(max=MAX_WORD), check_printable]
    )


class HeartbeatBody(RequestSchema):
    boot_id = fields.String(required=True, validate=[validate.Length(1, MAX_WORD), check_printable])
    facts = fields.Dict(keys=fields.String(), required=True)
    units = fields.List(fields.Nested(SeenUnitBody), required=True, validate=validate.Length(max=MAX_UNITS))

    @validates("facts")
    def check_facts_size(self, value: dict[str, Any], **kwargs: Any) -> None:
        """Refuses too many facts, and values that a row cannot keep."""
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            text.encode()
        except ValueError:
            raise ValidationError("Use finite numbers and whole characters.") from None
        if len(text) > MAX_FACTS:
            raise ValidationError("These are too many facts.")
        if "\\u0000" in text:
            raise ValidationError("Use texts without control characters.")
        fabric = value.get("fabric")
        if fabric is not None and not (isinstance(fabric, str) and len(fabric) <= MAX_WORD):
            raise ValidationError("A fabric is a short word.")

    @validates("units")
    def check_units_differ(self, value: list[dict[str, Any]], **kwargs: Any) -> None:
        names = [unit["identity"] for unit in value if "identity" in unit]
        if len(set(names)) < len(names):
            raise ValidationError("Each unit stands here once.")


@blueprint.route("")
class Heartbeats(MethodView):
    @blueprint.arguments(HeartbeatBody)
    @blueprint.response(204)
    def post(self, body: dict[str, Any]) -> None:
        """Records a heartbeat. The token decides which node it is; nothing in the body names the node or its rights."""
        units = [ReportedUnit(**{**unit, "state": UnitState(unit["state"])}) for unit in body["units"]]
        token = g.node_token
        record_heartbeat(
            current_cluster(), token.name, body["boot_id"], body["facts"], units, token.has_executor
        )
