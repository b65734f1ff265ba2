"""Rows of the queue's waiting jobs, as plain values of which the HTML is kept."""

from typing import NamedTuple

from flask import Flask
from markupsafe import Markup

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.reasons import JobOnHold
from cluster.services.jobs.queries import JobLine
from portal.i18n.sentence_times import with_times
from portal.i18n.translate import _, localized_duration, now, template_gettext, time_of_clock
from portal.presenters.queue.queue_page import QueueRow
from portal.presenters.queue.waiting_texts import localized_waiting_text
from portal.presenters.unit_words import localized_unit_word
from portal.web import query_params
from portal.web.request_context import current_actor


class ExpectedStart(NamedTuple):
    """The expected start: a time, a range, or who decides about it, with a second line if there is more to say."""

    words: str
    second: str = ""
    is_unknown: bool = False


class ShownWaitingJob(NamedTuple):
    """One waiting job. Texts are in the reader's language."""

    id: int
    name: str
    is_visible: bool
    is_mine: bool
    is_open: bool
    is_held: bool
    start: ExpectedStart
    user_name: str
    workspace_name: str
    units: int
    unit_word: str
    reason: Markup | str
    rest: Markup | str
    """The sentences about who is ahead, when it starts and what would help."""
    waited: str
    link: str
    """Opens or folds the row."""


def init_app(app: Flask) -> None:
    app.add_template_global(waiting_rows)
    app.add_template_global(expected_start)


def expected_start(explanation: WaitingExplanation | None) -> ExpectedStart:
    """The time at which the job is expected to start. An explanation of None means that it starts now."""
    if explanation is None:
        return ExpectedStart(_("Now"))
    starts_at, earliest_at, latest_at = (
        explanation.starts_at,
        explanation.earliest_at,
        explanation.latest_at,
    )
    if starts_at and starts_at > now():
        left = localized_duration((starts_at - now()).total_seconds())
        return ExpectedStart(time_of_clock(starts_at), _("in %(time)s", time=left))
    if earliest_at and latest_at:
        latest = template_gettext("at the latest %(time)s", time=time_of_clock(latest_at))
        return ExpectedStart(Markup("{}–").format(time_of_clock(earliest_at)), latest)
    is_held = explanation.code == JobOnHold.code
    return ExpectedStart(_("Unknown"), _("a person decides") if is_held else "", is_unknown=True)


def waiting_rows(lines: list[QueueRow], opened_id: int | None) -> list[ShownWaitingJob]:
    links, unit_word, user_id = QueueLinks(), localized_unit_word(), current_actor().user_id
    return [shown_waiting_job(line, line.id == opened_id, links, unit_word, user_id) for line in lines]


def shown_waiting_job(
    line: QueueRow, is_open: bool, links: "QueueLinks", unit_word: str, user_id: int
) -> ShownWaitingJob:
    """The line as it is shown. A job that the reader may not see shows only its place, its start and its size."""
    job, start = line.job, expected_start(line.explanation)
    if not isinstance(job, JobLine):
        return ShownWaitingJob(
            line.id, "", False, False, False, False, start, "", "", line.units, unit_word, "", "", "", ""
        )
    text, data = localized_waiting_text(line.explanation), line.explanation.data
    return ShownWaitingJob(
        line.id,
        job.name,
        True,
        job.user_id == user_id,
        is_open,
        line.explanation.code == JobOnHold.code,
        start,
        job.user_name,
        job.workspace_name,
        line.units,
        unit_word,
        with_times(text.reason, data),
        with_times(text.rest, data),
        localized_duration(line.waited),
        links.folded if is_open else links.opened(line.id),
    )


class QueueLinks:
    """The addresses of the page's rows. Each is made by putting an id into one address that Flask has made."""

    def __init__(self) -> None:
        self.folded = query_params.current_url_with(open=None)
        self._open = f"{self.folded}{'&' if '?' in self.folded else '?'}open="

    def opened(self, job_id: int) -> str:
        return f"{self._open}{job_id}"
