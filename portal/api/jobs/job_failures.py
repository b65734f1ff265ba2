"""Why a job failed, as REST returns it: the lines of the log that name the cause, its explanation, and what to do."""

from typing import Any

from marshmallow import fields

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from portal.api.blueprint import describe_sentence
from portal.api.schemas import JobAnswer, ResponseSchema, Sentence, WhyAnswer
from portal.presenters.jobs.job_page import read_job_view
from portal.web.request_context import current_cluster


class FailureAnswer(ResponseSchema):
    """Logs are written by programs: `error` and `lines` are their text, without colours."""

    rank = fields.String(
        required=True, allow_none=True, metadata={"description": "A number, or launcher; null without a log"}
    )
    stream = fields.String(required=True, allow_none=True)
    error = fields.String(required=True, metadata={"description": "The line of the exception; may be empty"})
    lines = fields.List(fields.String(), required=True, metadata={"description": "At most 8 lines around it"})
    symptom = fields.Nested(
        Sentence, allow_none=True, metadata={"description": "What is known of such a line"}
    )
    hint = fields.String(required=True, metadata={"description": "What to do; may be empty"})


class OneJobAnswer(JobAnswer):
    """Lists leave `failure` out, because it is read from the logs."""

    failure = fields.Nested(FailureAnswer, allow_none=True)


class OneWhyAnswer(WhyAnswer):
    failure = fields.Nested(FailureAnswer, allow_none=True)


def describe_failure(job: Job) -> dict[str, Any] | None:
    """Returns None for a job that has not failed, and if its logs say nothing beyond its end."""
    if job.state is not JobState.FAILED or job.end_code is None:
        return None
    view = read_job_view(current_cluster(), job, None)
    failure, hint = view.job_failure, view.failure_hint
    if failure is None:
        known: dict[str, Any] = {"rank": None, "stream": None, "error": "", "lines": [], "symptom": None}
        return known | {"hint": hint} if hint else None
    symptom = failure.cause.symptom
    return {
        "rank": failure.rank,
        "stream": failure.stream,
        "error": failure.cause.error_line,
        "lines": list(failure.cause.lines),
        "symptom": describe_sentence(symptom.code, dict(symptom.data)) if symptom else None,
        "hint": hint,
    }
