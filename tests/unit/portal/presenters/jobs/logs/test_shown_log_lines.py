"""A line's level is that which the viewer colours, and a level asked for hides the lines of others."""

import pytest

from portal.presenters.jobs.logs.shown_log_lines import SHOWN_LEVELS, ShownLogLine, line_level, lines_of_level

LINES = [ShownLogLine("", "", "r0", "stdout", level, level) for level in ("", "warning", "error")]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("step 5 of 10: loss 0.3", ""),
        ("ValueError: shapes differ", "error"),
        ("ERROR the file is gone", "error"),
        ("WARNING: the rate is high", "warning"),
    ],
)
def test_the_level_of_a_line_is_read_from_its_beginning(text: str, level: str) -> None:
    assert line_level(text) == level


@pytest.mark.parametrize(("shown", "count"), [("", 3), ("warnings", 2), ("errors", 1)])
def test_a_level_shows_itself_and_what_is_worse(shown: str, count: int) -> None:
    assert [line.level for line in lines_of_level(LINES, shown)] == list(SHOWN_LEVELS[shown])
    assert len(lines_of_level(LINES, shown)) == count
