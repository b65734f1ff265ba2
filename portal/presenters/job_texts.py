"""Template globals about jobs: state names, reasons to wait, history lines and one-line summaries."""

from collections.abc import Mapping
from typing import Any

from flask import Flask

from cluster import words
from cluster.domain.jobs.memory import format_exact_size
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import JobState
from cluster.services.queue.queries import read_waiting_explanations
from cluster.services.queue.reason_counts import ReasonCount
from cluster.services.queue.waiting_explanations import WaitingExplanation
from cluster.store.jobs import Job, JobEvent
from portal.i18n.messages import localized_sentence, localized_word, waiting_label
from portal.i18n.translate import _, installation_zone, ngettext, now, request_language
from portal.job_files.metrics_cache import MetricsCache
from portal.job_files.metrics_csv import CsvExportSlots
from portal.presenters.job_page import CSV_SLOTS, METRICS_CACHE, units_on_nodes
from portal.presenters.unit_words import installation_unit_kind
from portal.web.request_context import current_cluster


def init_app(app: Flask) -> None:
    app.extensions[METRICS_CACHE] = MetricsCache()
    app.extensions[CSV_SLOTS] = CsvExportSlots()
    for shown in (
        unit_singular,
        units_on_nodes,
        wait_explanations_of,
        reason_count_text,
        waiting_summary,
        waiting_reason,
        waiting_start,
        event_sentence,
        job_state_choices,
        format_exact_size,
    ):
        app.add_template_global(shown)
    app.add_template_global(waiting_label)
    app.add_template_global(now, "current_time")


def unit_singular() -> str:
    """`GPU` or `CPU slot`, for "GPU hours"."""
    return words.unit_word(installation_unit_kind(), request_language(), 1)


def waiting_reason(code: str, data: Mapping[str, Any] | None) -> str:
    """The reason alone, which pages set in bold."""
    return words.waiting_reason_sentence(code, data, request_language(), installation_zone(), now())


def waiting_start(data: Mapping[str, Any] | None) -> str:
    """Which jobs are ahead and which job's end frees the units; empty if nothing is known."""
    return words.waiting_start_sentence(data, request_language(), installation_zone(), now())


def wait_explanations_of(jobs: list[Job]) -> dict[int, WaitingExplanation]:
    """Why the waiting ones among these jobs wait, at this moment."""
    return read_waiting_explanations(current_cluster(), jobs)


def reason_count_text(counted: ReasonCount) -> str:
    """A count that is exact to 1,000: `1,000+` stands for more."""
    return words.format_capped_count(counted.count + counted.is_more)


def waiting_summary(reasons: list[ReasonCount], workspace_id: int | None) -> str:
    """How many wait, in a sentence; exact to 1,000."""
    count = sum(one.count for one in reasons)
    if any(one.is_more for one in reasons) or count > MAX_AHEAD_COUNTED:
        return _("More than %(num)s jobs wait", num=words.format_number(MAX_AHEAD_COUNTED))
    return ngettext("%(num)d job waits", "%(num)d jobs wait", count) if count else _("Nothing waits")


def event_sentence(event: JobEvent) -> str:
    """One line of a job's history."""
    if event.code.startswith("waiting."):
        return waiting_reason(event.code, event.data)
    return localized_sentence(event.code, event.data)


def job_state_choices() -> list[tuple[str, str]]:
    """Every state of a job for a filter, and all living ones as one."""
    return [
        ("living", _("Not ended")),
        *((state.value, localized_word("state.job", state.value)) for state in JobState),
    ]
