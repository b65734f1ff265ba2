"""Tags, notes and names of views are checked before they are stored."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs import annotations


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("", []),
        ("Baseline, lr-0.1 baseline", ["baseline", "lr-0.1"]),
        ("논문  표:3", ["논문", "표:3"]),
    ],
)
def test_tags_are_words_in_lower_case_each_once(text: str, tags: list[str]) -> None:
    assert annotations.parse_tags(text) == tags


@pytest.mark.parametrize("text", ["-x", "a/b", "<b>", "x" * 31, " ".join(f"t{n}" for n in range(11))])
def test_other_tags_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        annotations.parse_tags(text)


def test_a_note_is_one_line_of_limited_length() -> None:
    assert annotations.check_note(" two\n lines ") == "two lines"
    assert annotations.check_note("  ") is None
    with pytest.raises(Refused):
        annotations.check_note("x" * 501)


def test_a_view_has_a_name() -> None:
    assert annotations.check_view_name(" best  of mine ") == "best of mine"
    for wrong in ("", " ", "x" * 41):
        with pytest.raises(Refused):
            annotations.check_view_name(wrong)
