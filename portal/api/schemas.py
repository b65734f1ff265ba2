"""Marshmallow schemas of the REST requests and answers. They check types only; services decide what is allowed."""

from typing import Any

from marshmallow import EXCLUDE, RAISE, Schema, ValidationError, fields, validate, validates_schema

from cluster.domain.jobs.annotations import LONGEST_TAG
from cluster.domain.jobs.results import LONGEST_METRIC
from cluster.domain.states import Launcher
from cluster.services.jobs.file_deletions import MAX_JOBS_PER_REQUEST
from cluster.services.jobs.runs_table import JobOrder
from cluster.services.queue.queries import STATES
from cluster.store.base import LARGEST_ID
from portal.rendering.compiled_schema import CompiledSchema

IS_ID = validate.Range(1, LARGEST_ID)


class RequestSchema(Schema):
    class Meta:
        unknown = RAISE


class ResponseSchema(CompiledSchema):
    class Meta:
        unknown = EXCLUDE


class BooleanField(fields.Boolean):
    """True or false of a body, where 0, 1 and texts are other values."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class VariableValueField(fields.Field[Any]):
    """Text or a number; the model's own table checks the rest."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValidationError("Use a number or text.")
        return str(value)


class NamedObject(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)


class Sentence(ResponseSchema):
    """A typed reason: the code is stable, the sentence is in the caller's language."""

    code = fields.String(required=True)
    data = fields.Dict(required=True)
    sentence = fields.String(required=True)


class SubmissionBody(RequestSchema):
    """The fields that a job and a sweep need."""

    training_id = fields.Integer(required=True, strict=True, validate=IS_ID)
    code_version = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        validate=IS_ID,
        metadata={"description": "Of own code; null: the newest"},
    )
    name = fields.String(load_default="", validate=validate.Length(max=200))
    units = fields.Integer(load_default=1, strict=True)
    launcher = fields.Enum(Launcher, by_value=True, load_default=None, allow_none=True)
    command = fields.List(fields.String(), load_default=list, validate=validate.Length(max=1000))
    variables = fields.Dict(keys=fields.String(), values=VariableValueField(), load_default=dict)
    dataset_id = fields.Integer(load_default=None, allow_none=True, strict=True, validate=IS_ID)
    environment_id = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        validate=validate.Range(0, LARGEST_ID),
        metadata={"description": "Null: the one that the training names; 0: the default one"},
    )
    priority = fields.Integer(load_default=0, strict=True)
    time_limit_seconds = fields.Integer(load_default=None, allow_none=True, strict=True)
    grace_seconds = fields.Integer(load_default=30, strict=True)
    retries = fields.Integer(load_default=0, strict=True)
    memory_bytes = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        metadata={"description": "Of all its units together; null: their share of the node"},
    )


class JobBody(SubmissionBody):
    """Either a training with what its job needs, or `continue_from`, which takes everything else from that job."""

    training_id = fields.Integer(strict=True, validate=IS_ID)
    continue_from = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        validate=IS_ID,
        metadata={"description": "A stopped or failed job; the new one begins with its newest checkpoint"},
    )

    @validates_schema(pass_original=True)
    def check_way(self, body: dict[str, Any], original: Any, **kwargs: Any) -> None:
        if body.get("continue_from") is None:
            if "training_id" not in body:
                raise ValidationError("Missing data for required field.", "training_id")
            return
        others = sorted(set(original) - {"continue_from", "name"})
        if others:
            raise ValidationError("Leave it out: it is taken from the job that is continued.", others[0])


class DryRunQuery(RequestSchema):
    dry_run = fields.Boolean(load_default=False)


class CommitAnswer(ResponseSchema):
    """The commit whose files a version of code has."""

    id = fields.String(required=True)
    author = fields.String(required=True)
    subject = fields.String(required=True)


class RanInAnswer(ResponseSchema):
    """The environment in which an attempt ran."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    digest = fields.String(required=True)


class HeadlineAnswer(ResponseSchema):
    metric = fields.String(required=True)
    value = fields.Float(required=True)
    is_best = fields.Boolean(required=True, metadata={"description": "Else it is the last value"})
    lower_is_better = fields.Boolean(required=True)
    text = fields.String(required=True)


class JobAnswer(ResponseSchema):
    """The new job. With `dry_run` nothing was made, and only `waiting` and `warnings` are filled."""

    id = fields.Integer(allow_none=True)
    name = fields.String()
    state = fields.String()
    state_word = fields.String()
    workspace = fields.Nested(NamedObject)
    training = fields.Nested(NamedObject)
    user = fields.Nested(NamedObject)
    dataset = fields.Nested(NamedObject, allow_none=True)
    units = fields.Integer()
    unit_kind = fields.String()
    launcher = fields.String()
    command = fields.List(fields.String())
    variables = fields.Dict()
    priority = fields.Integer()
    time_limit_seconds = fields.Integer(allow_none=True)
    grace_seconds = fields.Integer()
    retries = fields.Integer()
    memory_bytes = fields.Integer(allow_none=True)
    retries_used = fields.Integer()
    resumes_from = fields.String(allow_none=True)
    continues_job_id = fields.Integer(
        allow_none=True, metadata={"description": "The job with whose checkpoint it began"}
    )
    code_version = fields.Integer(allow_none=True, metadata={"description": "Null for a built-in model"})
    environment_id = fields.Integer(
        allow_none=True, metadata={"description": "The environment that was chosen; null: the default one"}
    )
    ran_in = fields.Nested(
        RanInAnswer,
        allow_none=True,
        metadata={"description": "The environment of its newest attempt; lists leave it out"},
    )
    commit = fields.Nested(
        CommitAnswer, allow_none=True, metadata={"description": "Of code from git; lists leave it out"}
    )
    submitted_at = fields.AwareDateTime()
    dispatched_at = fields.AwareDateTime(allow_none=True)
    started_at = fields.AwareDateTime(allow_none=True)
    ended_at = fields.AwareDateTime(allow_none=True)
    attempts = fields.Integer()
    exit_code = fields.Integer(allow_none=True)
    headline = fields.Nested(HeadlineAnswer, allow_none=True)
    tags = fields.List(fields.String())
    note = fields.String(allow_none=True)
    held_at = fields.AwareDateTime(allow_none=True)
    waiting = fields.Nested(Sentence, allow_none=True)
    end = fields.Nested(Sentence, allow_none=True)
    storage_bytes = fields.Integer(
        allow_none=True, metadata={"description": "What the files of its ended attempts take on the disk"}
    )
    files_deleted = fields.Nested(Sentence, allow_none=True)
    warnings = fields.List(fields.Nested(Sentence))
    starts_now = fields.Boolean(allow_none=True)
    url = fields.String()


class DeleteFilesBody(RequestSchema):
    job_ids = fields.List(
        fields.Integer(strict=True, validate=IS_ID),
        required=True,
        validate=validate.Length(min=1, max=MAX_JOBS_PER_REQUEST),
    )


class JobQuery(RequestSchema):
    state = fields.String(load_default=None)
    workspace_id = fields.Integer(load_default=None, validate=IS_ID)
    training_id = fields.Integer(load_default=None, validate=IS_ID)
    mine = fields.Boolean(load_default=False)
    tag = fields.String(load_default="", validate=validate.Length(max=LONGEST_TAG))
    metric = fields.String(
        load_default="",
        validate=validate.Length(max=LONGEST_METRIC),
        metadata={"description": "Jobs with this headline metric"},
    )
    search = fields.String(
        load_default="",
        validate=validate.Length(max=60),
        metadata={"description": "A part of a name or a note, a tag, a person or a job's number"},
    )
    order = fields.Enum(JobOrder, by_value=True, load_default=JobOrder.NEWEST)
    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))
    cursor = fields.Integer(
        load_default=None, validate=IS_ID, metadata={"description": "next_cursor of the page before"}
    )


class JobList(ResponseSchema):
    items = fields.List(fields.Nested(JobAnswer), required=True)
    next_cursor = fields.Integer(allow_none=True)


class WhyAnswer(ResponseSchema):
    state = fields.String(required=True)
    state_word = fields.String(required=True)
    reason = fields.Nested(Sentence, allow_none=True)


class MoveBody(RequestSchema):
    step = fields.String(load_default="", metadata={"description": "up, down, front or before"})
    before = fields.Integer(
        load_default=None,
        allow_none=True,
        strict=True,
        validate=IS_ID,
        metadata={"description": "With step `before`: a job that waits in the same line"},
    )


class QueueQuery(RequestSchema):
    workspace_id = fields.Integer(load_default=None, validate=IS_ID)
    mine = fields.Boolean(load_default=False)
    reason = fields.String(load_default=None, validate=validate.Length(max=60))
    state = fields.String(
        load_default=None,
        validate=validate.OneOf(STATES),
        metadata={"description": "who stands in line, who is held, or who runs; all where it is missing"},
    )
    limit = fields.Integer(load_default=50, validate=validate.Range(1, 200))
    cursor = fields.String(
        load_default="",
        validate=validate.Length(max=50),
        metadata={"description": "next_cursor of the page before"},
    )


class QueuedJob(ResponseSchema):
    """`job` is null where you may not see it: it still stands in the line."""

    id = fields.Integer(required=True)
    job = fields.Nested(NamedObject, allow_none=True)
    workspace = fields.Nested(NamedObject, allow_none=True)
    user = fields.Nested(NamedObject, allow_none=True)
    units = fields.Integer(required=True)
    submitted_at = fields.AwareDateTime(allow_none=True)
    waiting = fields.Nested(Sentence, allow_none=True)


class RunningNow(ResponseSchema):
    job = fields.Nested(NamedObject, allow_none=True)
    units = fields.Integer(required=True)
    nodes = fields.List(fields.String(), required=True)
    started_at = fields.AwareDateTime(allow_none=True)
    ends_at = fields.AwareDateTime(allow_none=True)
    progress = fields.Float(allow_none=True, metadata={"description": "0 to 1, as the job says itself"})


class CountedReason(ResponseSchema):
    """Exact to 1,000; `more` says that there are more."""

    code = fields.String(required=True)
    count = fields.Integer(required=True)
    more = fields.Boolean(required=True)


class QueueAnswer(ResponseSchema):
    waiting = fields.List(fields.Nested(QueuedJob), required=True)
    next_cursor = fields.String(allow_none=True)
    reasons = fields.List(fields.Nested(CountedReason), required=True)
    running = fields.List(fields.Nested(RunningNow), required=True)
    more_running = fields.Boolean(required=True)


class LogQuery(RequestSchema):
    source = fields.String(load_default="rank-0", validate=validate.Regexp(r"^(rank-\d{1,4}|launcher)$"))
    stream = fields.String(load_default="stdout", validate=validate.OneOf(["stdout", "stderr"]))
    offset = fields.Integer(load_default=-65536, validate=validate.Range(-(2**53), 2**53))
    attempt = fields.Integer(load_default=None, validate=IS_ID)


class WorkspaceAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    description = fields.String()
    state = fields.String(required=True)
    state_word = fields.String(required=True)
    starts_on = fields.Date(required=True)
    ends_on = fields.Date(required=True)
    units = fields.Integer(required=True)
    units_in_use = fields.Integer(required=True)
    storage_limit_bytes = fields.Integer(allow_none=True)
    storage_used_bytes = fields.Integer(allow_none=True)
    manager = fields.String(required=True)


class WorkspaceList(ResponseSchema):
    items = fields.List(fields.Nested(WorkspaceAnswer), required=True)


class NameQuery(RequestSchema):
    name = fields.String(load_default=None)
    workspace_id = fields.Integer(load_default=None, validate=IS_ID)


class TrainingAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    kind = fields.String(required=True)
    model = fields.String(allow_none=True)
    description = fields.String()
    workspace = fields.Nested(NamedObject, required=True)
    owner = fields.String(required=True)
    visibility = fields.String()
    code_version = fields.Integer(allow_none=True)
    environment_id = fields.Integer(
        allow_none=True, metadata={"description": "The environment of its jobs; null: the default one"}
    )
    created_at = fields.AwareDateTime()
    archived_at = fields.AwareDateTime(allow_none=True)


class FileEntryAnswer(ResponseSchema):
    """One entry of a folder; a folder has no size."""

    name = fields.String(required=True)
    is_folder = fields.Boolean(required=True)
    bytes = fields.Integer(required=True, allow_none=True, attribute="size")
    written_at = fields.AwareDateTime(required=True)


class DatasetAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    state = fields.String(required=True)
    workspace = fields.Nested(NamedObject, required=True)
    files = fields.Integer(allow_none=True)
    bytes = fields.Integer(allow_none=True)


class DatasetList(ResponseSchema):
    items = fields.List(fields.Nested(DatasetAnswer), required=True)
