"""A message of Kubernetes becomes a reason of ours with numbers and names, and never its own English."""

import pytest

from cluster import words
from cluster.domain.kubernetes.reasons import KUBERNETES_REASONS, kubernetes_reason_data
from tests.unit.cluster.domain.kubernetes.message_cases import FILES, Case, Read, cases_of

CASES = [case for name in FILES for case in cases_of(name)]
SAID = [case for case in CASES if case.values[2] is not None]
"""Messages that stand for a reason."""


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("thing", "read", "means"), SAID)
def test_a_sentence_says_it_with_every_number_and_name(
    thing: Case, read: Read, means: Case, language: str
) -> None:
    reason = read(thing)
    assert reason is not None
    sentence = words.sentence(reason.code, kubernetes_reason_data(reason), language)
    assert "…" not in sentence and "kubernetes." not in sentence and "{" not in sentence
    for name in ("node", "image", "needed", "lacking", "limit", "command"):
        assert str(means.get(name, "")) in sentence


@pytest.mark.parametrize(("thing", "read", "means"), CASES)
def test_no_sentence_repeats_a_controller(thing: Case, read: Read, means: Case | None) -> None:
    reason = read(thing)
    text = words.sentence(reason.code, kubernetes_reason_data(reason)) if reason else ""
    for foreign in (
        "couldn't",
        "insufficient",
        "Insufficient",
        "node(s)",
        "podset",
        "rpc error",
        "taint",
        "exec:",
    ):
        assert foreign not in text


def test_every_reason_has_a_message_of_its_own() -> None:
    said = {case.values[2]["code"] for case in SAID}
    assert said == set(KUBERNETES_REASONS)
