"""Turns marshmallow's validation messages into our error codes with sentences in the caller's language."""

from typing import Any

from werkzeug.exceptions import HTTPException

from cluster import words
from portal.i18n.translate import request_language

CODE_OF_MESSAGE = {
    "Unknown field.": "body.unknown_field",
    "Missing data for required field.": "body.field_missing",
    "Not a valid integer.": "body.not_an_integer",
    "Not a valid boolean.": "body.not_a_boolean",
    "Not a valid string.": "body.not_text",
    "Not a valid list.": "body.not_a_list",
    "Not a valid mapping type.": "body.not_an_object",
    "Invalid input type.": "body.not_an_object",
    "Field may not be null.": "body.null",
    "Invalid JSON body.": "body.not_json",
}
"""marshmallow's messages as our codes, which have words in both languages."""


def list_validation_errors(error: HTTPException) -> list[dict[str, str]]:
    """[{pointer, code, message}, …]; empty for an error that is not about the shape of a request."""
    messages = getattr(error, "data", {}).get("messages", {})
    return [
        describe_validation_error(path, text)
        for place in messages.values()
        for path, text in flatten_messages(place)
    ]


def describe_validation_error(path: tuple[str, ...], text: str) -> dict[str, str]:
    code = CODE_OF_MESSAGE.get(text, "body.wrong_value")
    sentence = words.sentence(code, {"field": ".".join(path), "wanted": text}, request_language())
    # RFC 6901: the empty pointer is the whole body.
    pointer = "".join(f"/{part}" for part in path)
    return {"pointer": pointer, "code": code, "message": sentence}


def flatten_messages(messages: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """marshmallow's tree of messages as (path, text) pairs; its `_schema` stands for the whole."""
    if isinstance(messages, dict):
        return [
            pair
            for key, value in messages.items()
            for pair in flatten_messages(value, path if key == "_schema" else (*path, str(key)))
        ]
    if isinstance(messages, list):
        return [pair for value in messages for pair in flatten_messages(value, path)]
    return [(path, str(messages))]
