"""Sentences, titles, hints and names of `cluster.words` in the language and time zone of the request."""

from collections.abc import Mapping
from typing import Any

from flask import Flask
from markupsafe import Markup

from cluster import words
from cluster.domain.errors import GroundcrewError
from portal.i18n.reader_zone import request_zone
from portal.i18n.state_marks import state_mark
from portal.i18n.translate import now, request_language


def N_(message: str) -> str:
    """Marks a message for the translators where it is written; it is translated where it is shown."""
    return message


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update(
        sentence_for=localized_sentence,
        title_for=localized_title,
        hint_for=localized_hint,
        word_for=localized_word,
        state_mark=state_mark,
        operation_word=localized_operation,
        step_word=localized_step,
        action_word=localized_action,
        Markup=Markup,
    )


def localized_sentence(code: str, data: Mapping[str, Any] | None = None) -> str:
    """The whole sentence for a code of the domain."""
    return words.sentence(code, data, request_language(), request_zone(), now())


def localized_error(error: GroundcrewError) -> str:
    return localized_sentence(error.code, error.data)


def localized_title(code: str) -> str:
    """A short heading for an error or an end."""
    return words.title(code, request_language())


def localized_hint(code: str, data: Mapping[str, Any] | None = None) -> str:
    """The hint says what to do next; it may be empty."""
    return words.hint(code, data, request_language())


def localized_word(group: str, value: object) -> str:
    """`word_for("state.job", job.state.value)`."""
    return words.word(group, value, request_language())


def localized_operation(kind: str) -> str:
    return words.operation_name(kind, request_language())


def localized_step(code: str) -> str:
    return words.step_name(code, request_language())


def localized_waiting_reason(code: str, data: Mapping[str, Any] | None) -> str:
    return words.waiting_reason_sentence(code, data, request_language(), request_zone(), now())


def localized_waiting_start(data: Mapping[str, Any] | None) -> str:
    return words.waiting_start_sentence(data, request_language(), request_zone(), now())


def waiting_label(code: str) -> str:
    """A waiting reason in two or three words, for filters and counts."""
    return localized_word("label", code if words.has_words(f"label.{code}") else "other")


def localized_action(code: str) -> str:
    """The name of the action in a line of history or of the audit."""
    return words.action_name(code, request_language())
