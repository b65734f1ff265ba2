"""Template globals about waiting: why jobs wait and since when, as sentences; read once per request for each job."""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Flask, g

from cluster import words
from cluster.domain.queue.explanations import WaitingExplanation
from cluster.services.jobs.queries import JobLine
from cluster.services.queue.queries import read_waiting_explanations
from portal.i18n.messages import localized_waiting_reason, waiting_label
from portal.i18n.reader_zone import request_zone
from portal.i18n.translate import now, request_language
from portal.presenters.alerts import silent_scheduler_line
from portal.presenters.queue.queue_summary import reason_count_text, waiting_count, waiting_summary
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
