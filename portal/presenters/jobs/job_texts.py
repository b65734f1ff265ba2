"""Template globals about jobs: state names, history lines and one-line summaries."""

from flask import Flask

from cluster.domain.jobs.memory import format_exact_size
from cluster.domain.jobs.metric_names import is_accuracy
from cluster.domain.states import JobState
from cluster.services.jobs.queries import JobLine
from cluster.services.jobs.runs_table import JobOrder
from cluster.store.jobs import JobEvent
from cluster.words import formatting, metrics
from portal.i18n.messages import localized_sentence, localized_word
from portal.i18n.translate import _, localized_duration, now, request_language
from portal.presenters.jobs.job_page import units_on_nodes
from portal.presenters.jobs.job_situation import divergence_text
from portal.presenters.queue.waiting_texts import localized_waiting_text, read_explanations, waiting_reason
from portal.presenters.unit_words import installation_unit_kind


def init_app(app: Flask) -> None:
    for text in (
        unit_singular,
        units_on_nodes,
        job_summary,
        event_sentence,
        job_state_choices,
        job_order_choices,
        format_exact_size,
        metric_name,
    ):
        app.add_template_global(text)
    app.add_template_global(now, "current_time")
    app.add_template_global(formatting.format_metric_value, "metric_value")
    app.add_template_global(metrics.format_margins, "metric_margins")
    app.add_template_global(is_accuracy, "is_share_metric")


def unit_singular() -> str:
    """`GPU` or `CPU slot`, for "GPU hours"."""
    return formatting.unit_word(installation_unit_kind(), request_language(), 1)


def job_summary(job: JobLine) -> str:
    """One sentence about the job's situation, with its headline metric; empty if its state says everything."""
    headline = job.headline if job.state not in (JobState.WAITING, JobState.FAILED) else None
    measured = metrics.format_headline(headline, request_language()) if headline else ""
    return " · ".join(filter(None, (state_sentence(job), measured)))


def state_sentence(job: JobLine) -> str:
    if job.state is JobState.WAITING:
        explanation = read_explanations([job]).get(job.id)
        return str(localized_waiting_text(explanation)) if explanation else ""
    if job.state in (JobState.FAILED, JobState.STOPPED) and job.end_code:
        return localized_sentence(job.end_code, job.end_data)
    if divergence := divergence_text(job):
        return divergence
    if job.ended_at and job.started_at:
        return _("ran %(time)s", time=localized_duration((job.ended_at - job.started_at).total_seconds()))
    if job.state is JobState.RUNNING and job.started_at:
        return _("running for %(time)s", time=localized_duration((now() - job.started_at).total_seconds()))
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


def job_order_choices() -> list[tuple[str, str]]:
    return [
        (JobOrder.NEWEST.value, _("Newest first")),
        (JobOrder.OLDEST.value, _("Oldest first")),
        (JobOrder.BEST.value, _("Best result first")),
        (JobOrder.WORST.value, _("Worst result first")),
        (JobOrder.ENDED.value, _("Last ended first")),
    ]


def metric_name(metric: str) -> str:
    return metrics.metric_name(metric, request_language())
