"""The look of a state on pages."""

import pytest
from flask import Flask

from cluster import words
from cluster.words.english import WORDS
from portal.i18n.state_marks import LOOKS, StateMark, state_mark, state_marks


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_a_state_that_several_groups_have_is_one_word(language: str) -> None:
    marks = state_marks(language)
    for code in WORDS:
        group, _, state = code.rpartition(".")
        if group in LOOKS and state in marks:
            assert marks[state].word == words.word(group, state, language)


def test_a_state_stands_in_one_group_of_looks() -> None:
    states = [state for looks in LOOKS.values() for state in looks]
    assert len(states) == len(set(states))


def test_a_mark_is_in_the_language_of_the_request() -> None:
    app = Flask("portal")
    with app.test_request_context("/", headers={"Cookie": "gc_language=ko"}):
        assert state_mark("running") == StateMark("player-play", "is-ok", "실행 중")
    with app.test_request_context("/", headers={"Cookie": "gc_language=en"}):
        assert state_mark("running").word == "Running"
        assert state_mark("teleported") == StateMark("circle-dashed", "", "teleported")
