"""Every reason to wait has a number or a name in its sentence, in both languages."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.domain.queue.reasons import AheadInQueue, QuotaInUse, to_waiting_data
from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate
from cluster.domain.states import UnitKind
from cluster.words import sentence as say
from tests.unit.cluster.domain.queue.test_reasons import REASONS

AT = datetime(2026, 11, 20, 5, 38, tzinfo=UTC)
WITHOUT = {"waiting.no_nodes", "waiting.submitted"}
"""There is nothing to count or to name yet."""
PLACES = [
    (
        QuotaInUse(8, 8, 2, UnitKind.GPU),
        StartEstimate(freed_by=1055, starts_at=AT, source=EstimateSource.TIME_LIMITS),
    ),
    (
        AheadInQueue(199, 1071),
        StartEstimate(ahead=199, first_ahead=1071, starts_at=AT, source=EstimateSource.HISTORY),
    ),
    (
        AheadInQueue(200, 1071),
        StartEstimate(
            ahead=200, first_ahead=1071, earliest_at=AT, latest_at=AT, source=EstimateSource.TOTALS
        ),
    ),
    (AheadInQueue(1000, 1071), StartEstimate(ahead=1000, first_ahead=1071, is_more_ahead=True)),
]
"""The first of a line, the 200th, the 201st and the last of very many."""


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.code)
def test_every_reason_has_a_number_or_a_name(reason: Any, language: str) -> None:
    sentence = say(reason.code, to_waiting_data(reason), language)
    values = [str(value) for value in to_waiting_data(reason).values()]
    assert sentence != reason.code
    if reason.code not in WITHOUT:
        assert any(character.isdigit() for character in sentence) or any(
            value and value in sentence for value in values
        ), sentence


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("place", range(len(PLACES)))
def test_every_place_of_a_line_has_a_number_and_a_name(place: int, language: str) -> None:
    reason, outlook = PLACES[place]
    sentence = say(reason.code, to_waiting_data(reason, outlook), language)
    assert any(character.isdigit() for character in sentence)
    assert "job-" in sentence
