"""Marshmallow schemas of the REST requests and answers about nodes, their units and Kubernetes."""

from marshmallow import fields

from portal.api.schemas import RequestSchema, ResponseSchema


class HealthAnswer(ResponseSchema):
    what = fields.String(required=True)
    state = fields.String(required=True)
    answer = fields.String(required=True)
    repairs = fields.List(fields.String())


class KubernetesAnswer(ResponseSchema):
    """The cluster as the scheduler last saw it; `seen_at` is null and the rest empty without Kubernetes."""

    seen_at = fields.AwareDateTime(allow_none=True)
    silent_since = fields.AwareDateTime(allow_none=True)
    parts = fields.List(fields.Nested(HealthAnswer))
    disagreements = fields.List(fields.String())
    disagreements_ever = fields.Integer()


class WeaknessAnswer(ResponseSchema):
    code = fields.String(required=True)
    sentence = fields.String(required=True)
    hint = fields.String(required=True)


class ConfinementAnswer(ResponseSchema):
    powers = fields.Dict(required=True)
    weaknesses = fields.List(fields.Nested(WeaknessAnswer), required=True)
    """The restrictions that could not be enforced; empty if all are."""


class NodeAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    state = fields.String(required=True)
    state_word = fields.String(required=True)
    units = fields.Integer(required=True)
    units_free = fields.Integer(required=True)
    reason = fields.String(allow_none=True)
    drain_reason = fields.String(allow_none=True)
    kubernetes = fields.List(fields.Nested(HealthAnswer))
    """How Kubernetes sees it; empty where it has nothing to do with the node."""
    confinement = fields.Nested(ConfinementAnswer, allow_none=True)
    """The confinement of its jobs; null if they are no processes of this node, or nobody has asked it yet."""
    unit_kind = fields.String(required=True)
    heartbeat_at = fields.AwareDateTime(allow_none=True)


class RunOnNode(ResponseSchema):
    job_id = fields.Integer(required=True)
    name = fields.String(allow_none=True)
    units = fields.Integer(required=True)
    ends_at = fields.AwareDateTime(allow_none=True)


class UnitAnswer(ResponseSchema):
    """A unit of a node. What a GPU does is what the agent of its node last measured; null: not reported."""

    node = fields.String(required=True)
    position = fields.Integer(required=True)
    identity = fields.String(required=True)
    kind = fields.String(required=True)
    model = fields.String(required=True)
    state = fields.String(required=True)
    simulated = fields.Boolean(required=True)
    job_id = fields.Integer(required=True, allow_none=True)
    memory_bytes = fields.Integer(required=True, allow_none=True)
    memory_used_bytes = fields.Integer(required=True, allow_none=True)
    utilisation = fields.Float(
        required=True, allow_none=True, metadata={"description": "0 to 1, over the last moment"}
    )
    temperature = fields.Float(required=True, allow_none=True, metadata={"description": "°C"})
    power = fields.Float(required=True, allow_none=True, metadata={"description": "W"})


class UnitList(ResponseSchema):
    items = fields.List(fields.Nested(UnitAnswer), required=True)


class OneNodeAnswer(NodeAnswer):
    running = fields.List(fields.Nested(RunOnNode))
    too_large_elsewhere = fields.List(
        fields.Integer(),
        metadata={"description": "Waiting jobs, at most a hundred, that fit on no other node"},
    )
    may_drain = fields.Boolean(
        required=True, metadata={"description": "Whether you may drain, open and forget it"}
    )


class DrainBody(RequestSchema):
    reason = fields.String(load_default="", metadata={"description": "Has to say something"})


class NodeList(ResponseSchema):
    items = fields.List(fields.Nested(NodeAnswer), required=True)
