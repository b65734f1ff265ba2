"""Rows of waiting jobs: when one starts in words, and times in its sentences as elements."""

from datetime import timedelta

import pytest
from flask import Flask
from markupsafe import Markup

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.reasons import JobOnHold, QuotaInUse
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import UnitKind
from cluster.services.jobs.queries import JobLine
from portal.i18n.translate import now
from portal.presenters.queue.queue_page import QueueRow
from portal.presenters.queue.waiting_rows import ExpectedStart, QueueLinks, expected_start, shown_waiting_job

QUOTA = QuotaInUse.code


def shown_at(clock: str) -> Markup:
    """The time on the day of NOW, nine hours ahead of UTC, as pages write it."""
    hour, minute = clock.split(":")
    return Markup(
        f'<time datetime="2026-11-20T{int(hour) - 9:02}:{minute}:00+00:00" title="2026-11-20 {clock}:00">{clock}</time>'
    )


@pytest.mark.parametrize(
    ("code", "starts", "earliest", "latest", "expected"),
    [
        (None, None, None, None, ExpectedStart("Now")),
        (QUOTA, 10, None, None, ExpectedStart(shown_at("14:16"), "in 10 min")),
        (QUOTA, 10, 5, 20, ExpectedStart(shown_at("14:16"), "in 10 min")),
        (QUOTA, None, 5, 20, ExpectedStart(shown_at("14:11") + "–", "at the latest " + shown_at("14:26"))),
        (QUOTA, -1, None, None, ExpectedStart("Unknown", is_unknown=True)),
        (JobOnHold.code, None, None, None, ExpectedStart("Unknown", "a person decides", is_unknown=True)),
    ],
)
def test_a_start_is_a_time_a_range_or_unknown(
    in_request: Flask,
    code: str | None,
    starts: int | None,
    earliest: int | None,
    latest: int | None,
    expected: ExpectedStart,
) -> None:
    moments = {"starts_at": starts, "earliest_at": earliest, "latest_at": latest}
    data = {
        name: (now() + timedelta(minutes=each)).isoformat()
        for name, each in moments.items()
        if each is not None
    }
    explanation = WaitingExplanation(code, data) if code else None
    assert expected_start(explanation) == expected


def links() -> QueueLinks:
    """Without a route: the addresses do not matter here."""
    links = QueueLinks.__new__(QueueLinks)
    links.folded = links._open = "/queue"
    return links


def test_times_in_the_sentences_of_a_row_are_elements(in_request: Flask) -> None:
    estimate = StartEstimate(freed_by=4, starts_at=now() + timedelta(minutes=10))
    explanation = WaitingExplanation.of(QuotaInUse(2, 2, 1, UnitKind.GPU), estimate)
    job = JobLine._make([None] * len(JobLine._fields))._replace(id=7, user_id=1)
    row = shown_waiting_job(QueueRow(7, job, 1, explanation, 60.0), False, links(), "GPUs", 1)
    assert shown_at("14:16") in row.rest
    assert isinstance(row.rest, Markup) and isinstance(row.reason, Markup)
