"""Rows of a list of jobs, as plain values of which the HTML is kept."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flask import Flask

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.jobs.parameters import PLACE_PREFIX, ComparedJob, Parameters, differing_parameters
from cluster.services.jobs.queries import JobLine
from cluster.words.formatting import format_duration, format_metric_value
from cluster.words.metrics import metric_name, value_word
from portal.i18n.shown_moments import ReaderTime, ShownMoment, reader_time
from portal.i18n.translate import (
    _,
    localized_percent,
    localized_size,
    request_language,
)
from portal.presenters.jobs.job_situation import RUNNING_STATES, situation
from portal.presenters.queue.waiting_texts import read_explanations
from portal.presenters.unit_words import localized_unit_word
from portal.web.request_context import current_actor

SHOWN_PARAMETERS = 4
LONGEST_VALUE = 24


class ShownHeadline(NamedTuple):
    """ "val accuracy", "98.3 %", "best"."""

    metric: str
    value: str
    value_word: str


class JobRow(NamedTuple):
    """One job. `now` says why it waits, when it ends or how it ended; texts are in the reader's language."""

    id: int
    name: str
    state: str
    is_mine: bool
    is_choosable: bool
    sweep_id: int | None
    training_id: int | None
    """None in a list of one training's jobs."""
    training_name: str
    workspace_name: str
    user_name: str
    units: int
    unit_word: str
    parameters: str
    """The job's values of the parameters that differ in the list."""
    tags: tuple[str, ...]
    note: str
    headline: ShownHeadline | None
    progress: float | None
    """0 to 1 in steps of a hundredth, of a job that runs."""
    progress_words: str
    now: str
    submitted: ShownMoment | None
    ran: str
    storage: str


def init_app(app: Flask) -> None:
    app.add_template_global(job_rows)
    app.add_template_global(parameter_word)


def job_rows(
    jobs: Sequence[JobLine],
    with_training: bool = True,
    parameters: Mapping[int, Parameters] | None = None,
) -> list[JobRow]:
    """Makes the rows. If `parameters` of all jobs are given, the rows can be chosen and show the parameters that
    differ.
    """
    explanations, user_id, unit_word = read_explanations(jobs), current_actor().user_id, localized_unit_word()
    reader = reader_time()
    differing = differing_parameters(
        ComparedJob(job.id, job.training_id, (parameters or {}).get(job.id, {})) for job in jobs
    )
    return [
        JobRow(
            job.id,
            job.name,
            job.state.value,
            job.user_id == user_id,
            parameters is not None,
            job.sweep_id,
            job.training_id if with_training else None,
            job.training_name,
            job.workspace_name,
            job.user_name,
            job.units,
            unit_word,
            parameters_text(without_those_in_name(differing[job.id], job.name)),
            job.tags,
            job.note or "",
            shown_headline(headline, reader.language) if (headline := job.headline) else None,
            round(job.progress, 2) if job.progress is not None and job.state in RUNNING_STATES else None,
            localized_percent(job.progress) if job.progress is not None else "",
            situation(job, explanations.get(job.id)),
            reader.age(job.submitted_at),
            ran_text(job, reader),
            localized_size(job.storage_bytes) if job.storage_bytes and not job.files_unwanted_at else "",
        )
        for job in jobs
    ]


def without_those_in_name(parameters: Parameters, name: str) -> Parameters:
    """Leaves out the values of a sweep's job that its name has already."""
    return {key: value for key, value in parameters.items() if f"{key}={value}" not in name}


def parameters_text(parameters: Parameters) -> str:
    """ "lr 0.05 · batch 64"; a long value is shortened, and so is a long list."""
    shown = [
        f"{parameter_word(name)} {shorten(value)}"
        for name, value in list(parameters.items())[:SHOWN_PARAMETERS]
    ]
    return " · ".join([*shown, *(["…"] if len(parameters) > SHOWN_PARAMETERS else [])])


def parameter_word(name: str) -> str:
    """The name as the program knows it; of an argument without a name its place in the reader's language."""
    place = name.removeprefix(PLACE_PREFIX)
    return _("argument %(n)s", n=place) if place != name else name


def shorten(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1] + "…"


def shown_headline(headline: HeadlineMetric, language: str | None = None) -> ShownHeadline:
    """Formats the metric in `language`, or in the reader's language if none is given."""
    language = language or request_language()
    return ShownHeadline(
        metric_name(headline.metric, language),
        format_metric_value(headline.metric, headline.value),
        value_word(headline, language),
    )


def ran_text(job: JobLine, reader: ReaderTime) -> str:
    """Empty before it has started."""
    if job.started_at is None:
        return ""
    seconds = ((job.ended_at or reader.now) - job.started_at).total_seconds()
    return format_duration(seconds, reader.language)
