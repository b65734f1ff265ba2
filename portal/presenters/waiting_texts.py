"""Template globals about waiting: why jobs wait and since when, as sentences; read once per request for each job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Flask, g

from cluster import words
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.services.queue.queries import QueueSummary, read_waiting_explanations
from cluster.services.queue.reason_counts import ReasonCount
from cluster.services.queue.waiting_explanations import WaitingExplanation
from cluster.store.jobs import Job
from portal.i18n.messages import waiting_label
from portal.i18n.translate import _, installation_zone, ngettext, now, request_language
from portal.web.request_context import current_cluster


def init_app(app: Flask) -> None:
    for text in (
        read_explanations,
        reason_count_text,
        waiting_summary,
        waiting_reason,
        waiting_start,
        waiting_label,
    ):
        app.add_template_global(text)


def waiting_reason(code: str, data: Mapping[str, Any] | None) -> str:
    """The reason alone, which pages set in bold."""
    return words.waiting_reason_sentence(code, data, request_language(), installation_zone(), now())


def waiting_start(data: Mapping[str, Any] | None) -> str:
    """Which jobs are ahead and which job's end frees the units; empty if neither is known."""
    return words.waiting_start_sentence(data, request_language(), installation_zone(), now())


def reason_count_text(counted: ReasonCount) -> str:
    """A count that is exact to 1,000: `1,000+` stands for more."""
    return words.format_capped_count(counted.count + counted.is_more)


def waiting_summary(reasons: Sequence[ReasonCount]) -> str:
    """How many wait, in a sentence; exact to 1,000."""
    count = sum(one.count for one in reasons)
    if any(one.is_more for one in reasons) or count > MAX_AHEAD_COUNTED:
        return _("More than %(num)s jobs wait", num=words.format_number(MAX_AHEAD_COUNTED))
    return ngettext("%(num)d job waits", "%(num)d jobs wait", count) if count else _("Nothing waits")


@dataclass(frozen=True)
class QueueSummaryTexts:
    """How many wait (1,001 stands for more than 1,000), since when the longest one, and how often each reason."""

    count: int
    longest_seconds: float
    reasons: list[tuple[str, str]]


def summarise_queue(queue_summary: QueueSummary) -> QueueSummaryTexts:
    """Counts the waiting jobs of all users at this moment."""
    waited = (
        (now() - queue_summary.oldest_submission).total_seconds() if queue_summary.oldest_submission else 0.0
    )
    reasons = [(waiting_label(one.code), reason_count_text(one)) for one in queue_summary.counts]
    count = sum(one.count + one.is_more for one in queue_summary.counts)
    return QueueSummaryTexts(min(MAX_AHEAD_COUNTED + 1, count), waited, reasons[:4])


def read_explanations(jobs: Iterable[Job]) -> dict[int, WaitingExplanation]:
    """By job: why the waiting ones among these jobs wait, at this moment; each is read once per request."""
    explanations = stored_explanations()
    unread = [job for job in jobs if job.id not in explanations]
    if unread:
        explanations.update(read_waiting_explanations(current_cluster(), unread))
    return explanations


def store_explanations(explanations: Mapping[int, WaitingExplanation]) -> None:
    """Store explanations that were read together with something else, so that no row of a list reads its own."""
    stored_explanations().update(explanations)


def stored_explanations() -> dict[int, WaitingExplanation]:
    explanations: dict[int, WaitingExplanation] = g.setdefault("waiting_explanations", {})
    return explanations
