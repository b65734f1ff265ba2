"""An explanation is code and data."""

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.reasons import AheadInQueue, to_waiting_data
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import UnitKind


def test_an_explanation_is_the_reason_with_the_estimate() -> None:
    explanation = WaitingExplanation.of(AheadInQueue(3, 1055), StartEstimate(ahead=3))
    assert explanation.code == AheadInQueue.code
    assert explanation.data == to_waiting_data(AheadInQueue(3, 1055), StartEstimate(ahead=3))


def test_what_would_help_and_who_is_ahead_are_read_from_its_data() -> None:
    estimate = StartEstimate(ahead=3, helps_units=2, helps_seconds=600, kind=UnitKind.GPU)
    explanation = WaitingExplanation.of(AheadInQueue(3, 1055), estimate)
    assert (explanation.ahead, explanation.helps_units, explanation.helps_seconds) == (3, 2, 600)
    alone = WaitingExplanation("waiting.no_nodes", {})
    assert (alone.ahead, alone.helps_units, alone.helps_seconds, alone.starts_at) == (0, None, None, None)


def test_the_sentences_name_who_is_ahead_and_who_frees_the_units() -> None:
    explanation = WaitingExplanation.of(AheadInQueue(3, 7), StartEstimate(first_ahead=7, freed_by=5))
    assert explanation.named_job_ids == {5, 7}
