"""Tables of the command: aligned by the columns that a terminal shows, broken only where a person reads them."""

import pytest

from portal.cli.output import (
    Table,
    break_lines,
    local_datetime,
    print_aligned,
    readable_size,
    show_facts,
    show_table,
    text_width,
)


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


ROW = {"id": 1234567890, "why": "two units are held\tby somebody else", "at": "2026-11-23T05:06:07+00:00"}
JOBS = Table(
    lambda row: f"job-{row['id']}",
    {"Why": lambda row: row["why"], "Job": lambda row: f"job-{row['id']}"},
    {"Submitted": lambda row: local_datetime(row["at"]), "Size": lambda row: readable_size(2048)},
)


@pytest.mark.parametrize(
    ("output", "columns", "lines"),
    [
        (
            None,
            None,
            ["two units are held by somebody else\tjob-1234567890\t2026-11-23T05:06:07+00:00\t2048"],
        ),
        ("name", None, ["job-1234567890"]),
        ("name", "40", ["job-1234567890"]),
        (
            None,
            "40",
            [
                "Job             Why",
                "job-1234567890  two units are held by",
                "                somebody else",
            ],
        ),
        (
            "table",
            None,
            ["Job             Why", "job-1234567890  two units are held by somebody else"],
        ),
        ("yaml", "40", ["- id: 1234567890", '  why: "two units are held\\tby somebody else"']),
        ("json", None, ["[", "  {", '    "id": 1234567890,']),
    ],
)
def test_a_person_reads_a_table_and_a_program_whole_values(
    output: str | None,
    columns: str | None,
    lines: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    show_table([ROW], JOBS, output)
    printed = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split(" ")) for line in printed][: len(lines)] == lines
    assert len(printed) == len(lines) or output in ("yaml", "json")


def test_the_wide_table_has_more_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([ROW], JOBS, "wide")
    titles = capsys.readouterr().out.splitlines()[0].split()
    assert titles == ["Job", "Submitted", "Size", "Why"]


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("table", ["Job        job-1", "Exit code  0", "Size       2.0 KiB"]),
        ("tsv", ["Job\tjob-1", "Exit code\t0", "Size\t2048"]),
        ("name", ["job-1"]),
        ("yaml", ["id: 1"]),
    ],
)
def test_facts_that_are_not_known_are_left_out(
    output: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"Job": "job-1", "Dataset": None, "Variables": "", "Exit code": 0, "Size": readable_size(2048)}
    show_facts({"id": 1}, "job-1", lambda: facts, output)
    assert capsys.readouterr().out.splitlines() == lines
