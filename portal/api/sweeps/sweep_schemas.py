"""Marshmallow schemas of the REST requests and answers about sweeps."""

from typing import Any

from marshmallow import ValidationError, fields, validate

from cluster.domain.sweeps.plan import SweepKind
from portal.api.schemas import (
    IS_ID,
    BooleanField,
    NamedObject,
    RequestSchema,
    ResponseSchema,
    Sentence,
    SubmissionBody,
)

LONGEST_LIST = 1024 * 1024


class SweptValues(fields.Field[Any]):
    """A list of numbers and texts, or one text that is split as people type it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str | list[str]:
        if isinstance(value, list):
            return [self._one(each) for each in value]
        return self._one(value)

    def _one(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValidationError("Use a list of numbers or texts.")
        text = str(value)
        if len(text) > LONGEST_LIST:
            raise ValidationError("Use a shorter text.")
        return text


class SweepBody(SubmissionBody):
    values = fields.Dict(keys=fields.String(), values=SweptValues(), required=True)
    kind = fields.Enum(SweepKind, by_value=True, load_default=SweepKind.GRID)
    most_at_once = fields.Integer(load_default=None, allow_none=True, strict=True)
    stop_on_trouble = BooleanField(load_default=False)


class SweepListQuery(RequestSchema):
    workspace_id = fields.Integer(load_default=None, validate=IS_ID)
    training_id = fields.Integer(load_default=None, validate=IS_ID)
    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))
    cursor = fields.Integer(
        load_default=None, validate=IS_ID, metadata={"description": "next_cursor of the page before"}
    )


class SweepQuery(RequestSchema):
    sort = fields.String(load_default="", validate=validate.Length(max=64))
    order = fields.String(load_default="", validate=validate.OneOf(["", "up", "down"]))
    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))


class Best(ResponseSchema):
    job_id = fields.Integer(required=True)
    value = fields.Float(required=True)


class SweepRow(ResponseSchema):
    job_id = fields.Integer(required=True)
    number = fields.Integer(required=True)
    state = fields.String(required=True)
    state_word = fields.String(required=True)
    values = fields.Dict(required=True)
    results = fields.Dict(required=True, metadata={"description": "the best value of each metric"})
    seconds = fields.Float(allow_none=True)


class JobStart(ResponseSchema):
    """The start of one job of a sweep that is only previewed."""

    name = fields.String(required=True)
    starts_now = fields.Boolean(required=True)
    waiting = fields.Nested(Sentence, allow_none=True)


class SweepAnswer(ResponseSchema):
    """The new sweep. With `dry_run` nothing was made, and only what the list would be is filled."""

    id = fields.Integer(allow_none=True)
    name = fields.String()
    workspace = fields.Nested(NamedObject)
    training = fields.Nested(NamedObject)
    user = fields.Nested(NamedObject)
    kind = fields.String()
    jobs = fields.Integer()
    most_at_once = fields.Integer(allow_none=True)
    stop_on_trouble = fields.Boolean()
    submitted_at = fields.AwareDateTime()
    stopped_at = fields.AwareDateTime(allow_none=True)
    stop = fields.Nested(Sentence, allow_none=True)
    url = fields.String()
    # If the key is missing, attribute access on a dictionary would return its method of that name.
    values = fields.Dict(attribute="parameters")
    differing = fields.List(fields.String())
    states = fields.Dict(metadata={"description": "how many jobs are in each state"})
    metric = fields.String(metadata={"description": "by which the best one is chosen"})
    best = fields.Nested(Best, allow_none=True)
    table = fields.List(fields.Nested(SweepRow))
    names = fields.List(fields.String())
    starts = fields.List(
        fields.Nested(JobStart), metadata={"description": "of the first jobs, in the order of the names"}
    )
    unit_hours = fields.Float(allow_none=True)
    unit_hours_are_the_limit = fields.Boolean()
    starts_now = fields.Boolean()
    waiting = fields.Nested(Sentence, allow_none=True)
    warnings = fields.List(fields.Nested(Sentence))


class SweepList(ResponseSchema):
    items = fields.List(fields.Nested(SweepAnswer), required=True)
    next_cursor = fields.Integer(allow_none=True)
