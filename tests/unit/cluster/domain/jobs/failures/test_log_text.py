"""The line of a traceback that says why is its exception's."""

import pytest

from cluster.domain.jobs.failures.log_text import find_last_error, plain_line

HEAD = "Traceback (most recent call last):"
FRAME = '  File "a.py", line 1, in f'


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ([], None),
        (["fine"], None),
        ([HEAD, FRAME, "KeyError: 1"], 2),
        ([HEAD, FRAME, "KeyError: 1", "", "During handling of the above exception, another exception occurred:", "",
          HEAD, FRAME, "ValueError: 2", "bye"], 8),
        (["[rank1]: " + HEAD, "[rank1]: " + FRAME, "[rank1]: KeyError: 1", "[rank1]:[W] warning"], 2),
        ([HEAD, FRAME], None),
        (["ValueError: 1", "done"], 0),
        (["error: no such option", "Aborted"], 0),
        (["torch.cuda.OutOfMemoryError: x", "ERROR later"], 0),
        (["anErrorWithout: x"], None),
        ([HEAD, FRAME, "KeyboardInterrupt"], 2),
    ],
)  # fmt: skip
def test_the_last_error_is_found(lines: list[str], number: int | None) -> None:
    assert find_last_error(lines) == number


@pytest.mark.parametrize(
    ("written", "shown"),
    [("a\rb\rc", "c"), ("a\r", "a"), ("\x1b[1;31mred\x1b[0m", "red"), ("x" * 5000, "x" * 2000), ("", "")],
)
def test_a_line_is_read_as_a_terminal_shows_it(written: str, shown: str) -> None:
    assert plain_line(written) == shown
