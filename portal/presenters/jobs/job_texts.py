"""Template globals about jobs: state names, history lines and one-line summaries."""

from flask import Flask

from cluster import words
from cluster.domain.jobs.memory import format_exact_size
from cluster.domain.states import JobState
from cluster.store.jobs import Job, JobEvent
from portal.i18n.messages import localized_sentence, localized_word
from portal.i18n.translate import _, localized_duration, now, request_language
from portal.presenters.jobs.job_page import units_on_nodes
from portal.presenters.unit_words import installation_unit_kind
from portal.presenters.waiting_texts import read_explanations, waiting_reason


def init_app(app: Flask) -> None:
    for text in (
        unit_singular,
        units_on_nodes,
        job_summary,
        event_sentence,
        job_state_choices,
        format_exact_size,
    ):
        app.add_template_global(text)
    app.add_template_global(now, "current_time")


def unit_singular() -> str:
    """`GPU` or `CPU slot`, for "GPU hours"."""
    return words.unit_word(installation_unit_kind(), request_language(), 1)


def job_summary(job: Job) -> str:
    """One sentence about the job's situation; empty if its state says everything."""
    if job.state is JobState.WAITING:
        explanation = read_explanations([job]).get(job.id)
        return (
            localized_sentence(explanation.code, explanation.data) if explanation and explanation.code else ""
        )
    if job.state is JobState.FAILED and job.end_code:
        return localized_sentence(job.end_code, job.end_data)
    if job.ended_at and job.started_at:
        return _("ran %(time)s", time=localized_duration((job.ended_at - job.started_at).total_seconds()))
    if job.state is JobState.RUNNING and job.started_at:
        return _("runs for %(time)s", time=localized_duration((now() - job.started_at).total_seconds()))
    return ""


def event_sentence(event: JobEvent) -> str:
    """One line of a job's history."""
    if event.code.startswith("waiting."):
        return waiting_reason(event.code, event.data)
    return localized_sentence(event.code, event.data)


def job_state_choices() -> list[tuple[str, str]]:
    """Every state of a job for a filter, and all live ones as one choice."""
    return [
        ("living", _("Not ended")),
        *((state.value, localized_word("state.job", state.value)) for state in JobState),
    ]
