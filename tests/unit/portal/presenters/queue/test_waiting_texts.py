"""Why a job waits, in words."""

from flask import Flask

from cluster.domain.queue.explanations import WaitingExplanation
from portal.presenters.queue.waiting_texts import localized_waiting_text, waiting_reason


def test_a_reason_is_a_sentence_and_without_an_estimate_there_is_no_start(in_request: Flask) -> None:
    assert "another data set" not in waiting_reason("waiting.no_nodes", {})
    assert waiting_reason("waiting.no_nodes", {}).endswith(".")
    text = localized_waiting_text(WaitingExplanation("waiting.no_nodes", {}))
    assert (text.reason, text.rest) == (waiting_reason("waiting.no_nodes", {}), "")
