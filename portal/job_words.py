"""What templates about jobs ask for: reasons, history lines and states in the reader's language."""

from collections.abc import Mapping
from typing import Any

from flask import Flask

from cluster import words
from cluster.domain.states import JobState
from cluster.store.jobs import JobEvent
from portal.i18n import _, language, now, zone
from portal.job_files.metrics_reader import MetricsReader
from portal.job_page import READER
from portal.saying import say, word_for
from portal.units import unit_kind


def init_app(app: Flask) -> None:
    app.extensions[READER] = MetricsReader()
    for speaks in (one_unit, why_waiting, when_starting, event_words, state_words):
        app.add_template_global(speaks)
    app.add_template_global(now, "moment_now")


def one_unit() -> str:
    """`GPU` or `CPU slot`, for "GPU hours"."""
    return words.unit_word(unit_kind(), language(), 1)


def why_waiting(code: str, data: Mapping[str, Any] | None) -> str:
    """The reason alone, which pages set in bold."""
    return words.waiting_reason(code, data, language(), zone(), now())


def when_starting(data: Mapping[str, Any] | None) -> str:
    """Who is ahead and what frees the units; empty where nothing is known."""
    return words.waiting_start(data, language(), zone(), now())


def event_words(event: JobEvent) -> str:
    """One line of a job's history."""
    if event.code.startswith("waiting."):
        return why_waiting(event.code, event.data)
    return say(event.code, event.data)


def state_words() -> list[tuple[str, str]]:
    """Every state of a job for a filter, and all living ones as one."""
    return [
        ("living", _("Not ended")),
        *((state.value, word_for("state.job", state.value)) for state in JobState),
    ]
