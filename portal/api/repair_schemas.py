"""Marshmallow schemas of the REST requests and answers about repairs."""

from marshmallow import fields, validate

from portal.api.schemas import IS_ID, BooleanField, NamedObject, RequestSchema, ResponseSchema, Sentence


class RepairBody(RequestSchema):
    etag = fields.String(required=True, metadata={"description": "The forecast's, as it was read"})
    reason = fields.String(load_default="", metadata={"description": "Has to say something"})
    typed = fields.String(
        load_default="", metadata={"description": "The target's name, where it is dangerous"}
    )

    nodes = fields.List(
        fields.Integer(strict=True, validate=IS_ID),
        load_default=list,
        validate=validate.Length(max=500),
        metadata={"description": "Ids, where the repair works on nodes"},
    )
    look_ahead = BooleanField(
        load_default=False, metadata={"description": "Only say what would be changed (Ansible's check mode)"}
    )


class ForecastQuery(RequestSchema):
    nodes = fields.String(load_default="", metadata={"description": "Ids with commas between them"})


class RepairAnswer(ResponseSchema):
    name = fields.String(required=True)
    title = fields.String(required=True)
    text = fields.String(required=True)
    group = fields.String(required=True)
    seconds = fields.Float(allow_none=True)


class RepairList(ResponseSchema):
    items = fields.List(fields.Nested(RepairAnswer), required=True)


class ForecastAnswer(RepairAnswer):
    etag = fields.String(required=True)
    host = fields.String(required=True)
    tasks = fields.List(fields.String(), required=True)
    undo = fields.String(required=True)
    gentler = fields.List(fields.String(), required=True)
    jobs_that_stop = fields.List(fields.Integer(), required=True)
    nodes = fields.List(fields.Nested(NamedObject), required=True)
    not_drained = fields.List(fields.String(), required=True)
    can_look_ahead = fields.Boolean(required=True)
    needs_typed_name = fields.Boolean(required=True)
    under_way = fields.Integer(allow_none=True)


class CheckAnswer(Sentence):
    is_ok = fields.Boolean(required=True)


class RepairRunAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    host = fields.String(required=True)
    reason = fields.String(required=True)
    hosts = fields.List(fields.String(), required=True)
    who = fields.String(required=True)
    verdict = fields.String(allow_none=True)
    asked_at = fields.AwareDateTime(required=True)
    started_at = fields.AwareDateTime(allow_none=True)
    ended_at = fields.AwareDateTime(allow_none=True)
    tasks = fields.List(fields.Dict(), required=True)
    before = fields.List(fields.Nested(CheckAnswer), required=True)
    checks = fields.List(fields.Nested(CheckAnswer), required=True)
    error = fields.Nested(Sentence, allow_none=True)
