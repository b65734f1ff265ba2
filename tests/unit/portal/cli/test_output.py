"""Tables of the command: aligned by the columns that a terminal shows, broken only where a person reads them."""

import pytest

from portal.cli.output import break_lines, print_aligned, show_facts, show_table, text_width


@pytest.mark.parametrize(("text", "columns"), [("", 0), ("job-7", 5), ("작업", 4), ("vision/학습 1", 13)])
def test_a_korean_letter_takes_two_columns(text: str, columns: int) -> None:
    assert text_width(text) == columns


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("", 10, [""]),
        ("one two three", 20, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("unbreakable word", 5, ["unbreakable", "word"]),
        ("두 장치가 비면", 9, ["두 장치가", "비면"]),
    ],
)
def test_a_sentence_is_broken_between_words(text: str, room: int, lines: list[str]) -> None:
    assert list(break_lines(text, room)) == lines


def test_columns_are_aligned_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    print_aligned(["작업", "Name"], [["job-1", "a"], ["job-22", "학습"]], has_sentence=False)
    assert capsys.readouterr().out.splitlines() == ["작업    Name", "job-1   a", "job-22  학습"]


def test_without_a_terminal_nothing_is_broken_or_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    reason = "It waits. " * 40
    show_table([{"why": reason}], {"Why": lambda row: row["why"]}, "table")
    assert capsys.readouterr().out.splitlines() == ["Why", reason.rstrip()]


def test_in_a_narrow_terminal_only_the_sentence_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = {"Job": lambda row: row["job"], "Why": lambda row: row["why"]}
    rows = [{"job": "job-1234567890", "why": "two units are held by somebody else"}]
    show_table(rows, columns, "table")
    assert capsys.readouterr().out.splitlines() == [
        "Job             Why",
        "job-1234567890  two units are held by",
        "                somebody else",
    ]


def test_facts_that_are_not_known_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_facts({"Job": "job-1", "Dataset": None, "Variables": "", "Exit code": 0})
    assert capsys.readouterr().out.splitlines() == ["Job        job-1", "Exit code  0"]
