"""The prompt takes a number of the list; text of others tells the terminal only its letters."""

import pytest

from worker.console.prompt import parse_choice, print_line, print_title


def test_what_others_wrote_tells_the_terminal_nothing_but_its_letters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_line("가\x1b]0;title\x07\x9b2J\udc80 b")
    assert capsys.readouterr().out == "가\ufffd]0;title\ufffd\ufffd2J\ufffd b\n"


def test_a_number_is_one_of_the_list() -> None:
    assert [parse_choice(word, 3) for word in ("1", "3", "4", "0", "²", "-1", "1" * 5000, "")] == [
        1, 3, None, None, None, None, None, None,
    ]  # fmt: skip


def test_a_title_is_underlined(capsys: pytest.CaptureFixture[str]) -> None:
    print_title("Repairs")
    assert capsys.readouterr().out == "\nRepairs\n-------\n"
