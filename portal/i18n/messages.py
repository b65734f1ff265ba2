"""Sentences, titles, hints and names of `cluster.words` in the language and time zone of the request."""

from collections.abc import Mapping
from typing import Any

from flask import Flask, g
from markupsafe import Markup

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.domain.states import JobState
from cluster.services.queue.queries import read_waiting_explanations
from cluster.services.queue.waiting_explanations import WaitingExplanation
from cluster.store.jobs import Job
from portal.i18n.state_marks import state_mark
from portal.i18n.translate import _, installation_zone, localized_duration, now, request_language
from portal.web.request_context import current_cluster


def N_(message: str) -> str:
    """Marks a message for the translators where it is written down, not where it is said."""
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
        job_summary=job_summary,
        Markup=Markup,
    )


def localized_sentence(code: str, data: Mapping[str, Any] | None = None) -> str:
    """The whole sentence for a code of the domain."""
    return words.sentence(code, data, request_language(), installation_zone(), now())


def localized_error(error: GroundcrewError) -> str:
    return localized_sentence(error.code, error.data)


def localized_title(code: str) -> str:
    """A short heading for an error or an end."""
    return words.title(code, request_language())


def localized_hint(code: str, data: Mapping[str, Any] | None = None) -> str:
    """What to do next; may be empty."""
    return words.hint(code, data, request_language())


def localized_word(group: str, value: object) -> str:
    """`word_for("state.job", job.state.value)`."""
    return words.word(group, value, request_language())


def localized_operation(kind: str) -> str:
    return words.operation_name(kind, request_language())


def localized_step(code: str) -> str:
    return words.step_name(code, request_language())


def waiting_label(code: str) -> str:
    """A reason to wait in two or three words, for filters and counts."""
    return localized_word("label", code if words.has_words(f"label.{code}") else "other")


def job_summary(job: Job) -> str:
    """One sentence about the job's situation; empty if its state says everything."""
    if job.state is JobState.WAITING:
        standing = wait_explanation_of(job)
        return localized_sentence(standing.code, standing.data) if standing and standing.code else ""
    if job.state is JobState.FAILED and job.end_code:
        return localized_sentence(job.end_code, job.end_data)
    if job.ended_at and job.started_at:
        return _("ran %(time)s", time=localized_duration((job.ended_at - job.started_at).total_seconds()))
    if job.state is JobState.RUNNING and job.started_at:
        return _("runs for %(time)s", time=localized_duration((now() - job.started_at).total_seconds()))
    return ""


def wait_explanation_of(job: Job) -> WaitingExplanation | None:
    """One look for each job that no list has looked at before."""
    known = stored_wait_explanations()
    if job.id not in known:
        known.update(read_waiting_explanations(current_cluster(), [job]))
    return known.get(job.id)


def store_wait_explanations(standings: Mapping[int, WaitingExplanation]) -> None:
    """Store the explanations that a list has read at once, so that its rows do not read one by one."""
    stored_wait_explanations().update(standings)


def stored_wait_explanations() -> dict[int, WaitingExplanation]:
    known: dict[int, WaitingExplanation] = g.setdefault("standings", {})
    return known


def localized_action(code: str) -> str:
    """What a line of history or audit says was done."""
    return words.action_name(code, request_language())
