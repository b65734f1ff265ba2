"""The counts of waiting jobs as texts: how many wait, for how long, and for which reasons."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster import words
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.services.queue.queries import QueueSummary, read_queue_summary
from cluster.services.queue.reason_counts import ReasonCount
from portal.i18n.messages import waiting_label
from portal.i18n.translate import _, ngettext, now
from portal.recent_values import EVERYBODY, recent_values
from portal.web.request_context import current_cluster


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
