"""Errors as RFC 9457 problem+json: stable English codes, sentences in the caller's language."""

from typing import Any

from flask import Response, g, json
from werkzeug.exceptions import HTTPException

from cluster.domain.errors import Conflict, Forbidden, GroundcrewError, NotFound, Refused, Unavailable
from cluster.words import hint, say, title

STATUS = {Refused: 422, NotFound: 404, Forbidden: 403, Conflict: 409, Unavailable: 503}
MEDIA_TYPE = "application/problem+json"


def status_of(error: GroundcrewError) -> int:
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


def problem(
    status: int, code: str, name: str, detail: str = "", errors: list[dict[str, Any]] | None = None
) -> Response:
    """`errors` are [{pointer, code, message}, …], one for each field that has to change."""
    body: dict[str, Any] = {"type": f"/problems/{code}", "title": name, "status": status, "code": code}
    if detail:
        body["detail"] = detail
    if errors:
        body["errors"] = errors
    body["request_id"] = g.get("request_id", "")
    return Response(json.dumps(body), status, content_type=MEDIA_TYPE)


def problem_of(error: GroundcrewError, language: str) -> Response:
    sentence = say(error.code, error.data, language)
    errors = None
    if isinstance(error, Refused):
        errors = [{"pointer": pointer_of(error.field), "code": error.code, "message": sentence}]
    answer = problem(
        status_of(error),
        error.code,
        title(error.code, language),
        hint(error.code, language) or sentence,
        errors,
    )
    if isinstance(error, Unavailable):
        answer.headers["Retry-After"] = "5"
    return answer


def pointer_of(field: str) -> str:
    """`variables.learning_rate` → `/variables/learning_rate`."""
    return "/" + field.replace(".", "/")


def problem_of_http(error: HTTPException, language: str) -> Response:
    """Wrong shapes found before a service was asked: not JSON, a missing field, a wrong type, an unknown one."""
    status = error.code or 500
    messages = getattr(error, "data", {}).get("messages", {})
    errors = [
        {"pointer": "/" + "/".join(path), "code": "body.wrong_shape", "message": text}
        for place in messages.values()
        for path, text in flatten(place)
    ]
    code = f"http.{status}"
    answer = problem(status, code, say(code, {}, language), error.description or "", errors)
    for key, value in error.get_headers():
        if key.lower() not in ("content-type", "content-length"):
            answer.headers[key] = value
    return answer


def flatten(messages: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """marshmallow's tree of messages as (path, text) pairs."""
    if isinstance(messages, dict):
        return [pair for key, value in messages.items() for pair in flatten(value, (*path, str(key)))]
    if isinstance(messages, list):
        return [pair for value in messages for pair in flatten(value, path)]
    return [(path, str(messages))]
