"""A docstring can be read without the name above it: its first sentence says what it speaks of."""

import pytest

from tests.structure.prose import find_headless, is_headless
from tests.structure.source import read_source


def test_first_sentences_name_what_they_speak_of() -> None:
    headless = [str(each) for each in find_headless(read_source().modules)]
    assert headless == [], (
        "begin with the subject; a main verb that is not known belongs into VERB of prose.py"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Of the default environment.",
        "What sshd runs for every session: hands its input to the door.",
        "Whoever may see the job.",
        "By job id.",
        "Between two writings while the queue changes.",
        "Until an event arrives or the descriptor is readable.",
        "As nginx writes them.",
        "So many lines are kept.",
        "It was announced, and nobody has used it since.",
        "Whether it is full.",
        "When its agent last reported.",
        "How far it is, and its jobs side by side.",
        "While its stream is open; `rights` are those with which it was opened.",
    ],
)
def test_a_first_sentence_without_a_head_is_found(sentence: str) -> None:
    assert is_headless(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Returns the node that the token stands for.",
        "Seconds between two tries.",
        "Whether the node is full.",
        "How many units the attempt has on each node.",
        "After this time an undelivered notification is given up.",
        "On several nodes the ranks are several pods, and each gets the variables.",
        "While a disk is short, its numbers are written down this often.",
        "If memory runs out, the kernel ends the build first.",
        "Nothing else ever runs as this user.",
        "",
    ],
)
def test_a_first_sentence_with_a_head_is_left_alone(sentence: str) -> None:
    assert not is_headless(sentence)
