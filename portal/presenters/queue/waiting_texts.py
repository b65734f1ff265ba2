"""Template globals about waiting: why jobs wait and since when, as sentences; read once per request for each job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Flask, g

from cluster import words
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.services.jobs.queries import JobLine
from cluster.services.queue.queries import QueueSummary, read_queue_summary, read_waiting_explanations
from cluster.services.queue.reason_counts import ReasonCount
from portal.i18n.messages import localized_waiting_reason, waiting_label
from portal.i18n.reader_zone import request_zone
from portal.i18n.translate import _, ngettext, now, request_language
from portal.presenters.alerts import silent_scheduler_line
from portal.recent_values import EVERYBODY, recent_values
from portal.web.request_context import current_cluster


def init_app(app: Flask) -> None:
    for text in (
        read_explanations,
        reason_count_text,
        waiting_count,
        waiting_summary,
        waiting_reason,
        waiting_label,
        silent_scheduler_line,
    ):
        app.add_template_global(text)
    app.add_template_global(localized_waiting_text, "waiting_text")


def waiting_reason(code: str, data: Mapping[str, Any] | None) -> str:
    """The reason alone, of a job's history."""
    return localized_waiting_reason(code, data)


def localized_waiting_text(explanation: WaitingExplanation) -> words.WaitingText:
    """All sentences about a waiting job: the reason, and the rest."""
    return words.waiting_text(explanation, request_language(), request_zone(), now())


def reason_count_text(counted: ReasonCount) -> str:
    """A count that is exact to 1,000: `1,000+` stands for more."""
    return words.format_capped_count(counted.count + counted.is_more)


def waiting_count(reasons: Sequence[ReasonCount]) -> str:
    """`1,000+` stands for more than a thousand."""
    count = sum(one.count + one.is_more for one in reasons)
    return words.format_capped_count(min(count, MAX_AHEAD_COUNTED + 1))


def waiting_summary(reasons: Sequence[ReasonCount]) -> str:
    """The number of waiting jobs as a sentence; exact to 1,000."""
    count = sum(one.count for one in reasons)
    if any(one.is_more for one in reasons) or count > MAX_AHEAD_COUNTED:
        return _("More than %(num)s jobs wait", num=words.format_number(MAX_AHEAD_COUNTED))
    return ngettext("%(num)d job waits", "%(num)d jobs wait", count) if count else _("Nothing waits")


@dataclass(frozen=True)
class QueueSummaryTexts:
    """The number of waiting jobs (1,001 stands for more than 1,000), the start of the longest wait, and the count of
    each reason.
    """

    count: int
    running: int
    """Jobs that hold units; 1,001 stands for more than 1,000."""
    longest_seconds: float
    reasons: list[tuple[str, str]]


def read_recent_queue_summary() -> QueueSummary:
    """Everybody sees the same counts: this process reads them at most once a second."""
    cluster = current_cluster()
    return recent_values().read(EVERYBODY, "queue", lambda: read_queue_summary(cluster))


def share_reason_counts(count: Callable[[], list[ReasonCount]]) -> list[ReasonCount]:
    """Returns the counts of the whole queue that this process read within the last second, else those that `count`
    reads.
    """
    return recent_values().read(EVERYBODY, "reasons", count)


def summarise_queue(queue_summary: QueueSummary) -> QueueSummaryTexts:
    """Counts the waiting jobs of all users at this moment."""
    waited = (
        (now() - queue_summary.oldest_submission).total_seconds() if queue_summary.oldest_submission else 0.0
    )
    reasons = [(waiting_label(one.code), reason_count_text(one)) for one in queue_summary.counts]
    count = sum(one.count + one.is_more for one in queue_summary.counts)
    return QueueSummaryTexts(min(MAX_AHEAD_COUNTED + 1, count), queue_summary.running, waited, reasons[:4])


def read_explanations(jobs: Sequence[JobLine]) -> dict[int, WaitingExplanation]:
    """Returns job id → why it waits, for the waiting jobs. Each explanation is read once per request."""
    explanations = stored_explanations()
    unread = [job for job in jobs if job.id not in explanations]
    if unread:
        explanations.update(read_waiting_explanations(current_cluster(), unread))
    return explanations


def stored_explanations() -> dict[int, WaitingExplanation]:
    explanations: dict[int, WaitingExplanation] = g.setdefault("waiting_explanations", {})
    return explanations
