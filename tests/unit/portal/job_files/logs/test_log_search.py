"""A log is searched line by line, however long its lines are."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.files.safe_read import open_file_beneath
from portal.job_files.logs.log_search import find_first_problem, search_log


def written(folder: Path, data: bytes, name: str = "rank-0.stdout") -> Path:
    (folder / name).write_bytes(data)
    return folder


def test_search_names_lines_and_counts_all_hits(tmp_path: Path) -> None:
    data = b"".join(b"step %d loss NaN\n" % n if n % 3 == 0 else b"step %d\n" % n for n in range(3000))
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file:
        found = search_log(file, "nan")
        assert found.count == 1000
        assert len(found.matches) == 500
        assert found.covers_whole_file
        assert (found.matches[1].line, found.matches[1].text) == (4, "step 3 loss NaN")
        file.seek(found.matches[1].offset)
        assert file.read(6) == b"step 3"
        assert search_log(file, "없음").count == 0


def test_search_survives_binary_and_long_lines(tmp_path: Path) -> None:
    data = b"\x00\xff" * 400_000 + b"needle" + b"z" * 400_000 + b"\nneedle\n"
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file:
        found = search_log(file, "NEEDLE")
    assert [hit.line for hit in found.matches] == [1, 2]
    assert all(len(hit.text) <= 160 for hit in found.matches)


def test_the_first_error_goes_before_the_first_warning(tmp_path: Path) -> None:
    data = b"fine\nUserWarning: old\nstep 1\nValueError: shapes\nERROR again\n"
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file:
        problem = find_first_problem(file)
    assert problem is not None
    assert (problem.kind, problem.line, problem.text) == ("error", 4, "ValueError: shapes")
    with open_file_beneath(written(tmp_path, b"fine\nWARN: low disk\n"), "rank-0.stdout") as file:
        problem = find_first_problem(file)
    assert problem is not None
    assert (problem.kind, problem.line) == ("warning", 2)


FRAMES = b"Traceback (most recent call last):\n" + b'  File "a.py", line 1, in f\n    f()\n' * 3


@pytest.mark.parametrize(
    ("data", "line", "text"),
    [
        (b"fine\n" + FRAMES + b"ValueError: shapes\nbye\n", 9, "ValueError: shapes"),
        (
            FRAMES
            + b"KeyError: 1\n\nThe above exception was the direct cause of the following exception:\n\n"
            + FRAMES
            + b"ValueError: 2\n",
            19,
            "ValueError: 2",
        ),
        (FRAMES + b"KeyError: 1\n" + FRAMES + b"ValueError: another one\n", 8, "KeyError: 1"),
        (FRAMES, 1, "Traceback (most recent call last):"),
        (FRAMES + b"    f()\n" * 20_000, 1, "Traceback (most recent call last):"),
        (FRAMES + b"    f()\n" * 4_900 + b"RecursionError: deep\n", 4_908, "RecursionError: deep"),
        (FRAMES + b"    " + b"x" * 300_000 + b"\nValueError: x\n", 9, "ValueError: x"),
    ],
    ids=["one", "chained", "two", "cut", "endless", "deep", "wide"],
)
def test_of_a_traceback_the_line_of_the_exception_is_named(
    tmp_path: Path, data: bytes, line: int, text: str
) -> None:
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file, within_cpu_seconds(2):
        problem = find_first_problem(file)
    assert problem is not None
    assert (problem.kind, problem.line, problem.text) == ("error", line, text)


LETTERS = "AaZz_09 .-:\t\x1b\r\u00e9\ud55c"


@pytest.mark.parametrize("letter", LETTERS, ids=ascii)
def test_a_line_of_one_letter_is_searched_at_once(tmp_path: Path, letter: str) -> None:
    data = (letter * (256 * 1024)).encode() + b"\n" + b"ValueError: shapes\n"
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file, within_cpu_seconds(2):
        problem = find_first_problem(file)
        found = search_log(file, "shapes")
    assert problem is not None
    assert (problem.kind, problem.text, problem.line) == ("error", "ValueError: shapes", 2)
    assert [hit.line for hit in found.matches] == [2]


def test_lines_of_letters_are_searched_at_once_beside_a_word_of_levels(tmp_path: Path) -> None:
    """No block of them is skipped, and of no line more than half can be left out."""
    data = (b"A" * 4000 + b"\nxWarning:\n") * 1000
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file, within_cpu_seconds(2):
        assert find_first_problem(file) is None


@contextmanager
def within_cpu_seconds(most: float) -> Iterator[None]:
    """A search that reads each letter once needs milliseconds; the machine's other work does not count."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {most} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize(
    ("begin", "is_seen"),
    [(b"", True), (b"x " * 2000, True), (b"x " * 2100, False), (b"first\n" + b"x" * 300_000 + b" ", False)],
)
def test_a_level_is_looked_for_where_a_line_begins(tmp_path: Path, begin: bytes, is_seen: bool) -> None:
    with open_file_beneath(written(tmp_path, begin + b"UserWarning: old\nlast\n"), "rank-0.stdout") as file:
        assert (find_first_problem(file) is not None) is is_seen


NO_ERROR = [
    *(b"fine", b"xerror: in a word", b"AnError without a colon", b"WARNINGS", b"error"),
    *(b"x" * length + b" ERROR" for length in (4 * 1024, 32 * 1024, 64 * 1024, 256 * 1024)),
]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        *((word, "error") for word in (b"ERROR", b"FATAL", b"CRITICAL", b"Traceback (most", b"error: x")),
        *((b"at 12:00 " + word, "error") for word in (b"ValueError: x", b"A_1Exception: x", b"an error: x")),
        *((word, "warning") for word in (b"WARN", b"WARNING x", b"warning: x", b"UserWarning: x")),
        (b"x" * 4090 + b" ERROR and more", "error"),
        *((line, None) for line in NO_ERROR),
    ],
)
@pytest.mark.parametrize("before", [b"", b"first\n", b"xerror: WARNINGS\n" * 5_000, b"y" * 300_000 + b"\n"])
def test_a_level_is_a_word_in_a_line_wherever_the_line_stands(
    tmp_path: Path, before: bytes, line: bytes, kind: str | None
) -> None:
    with open_file_beneath(written(tmp_path, before + line + b"\nlast"), "rank-0.stdout") as file:
        problem = find_first_problem(file)
    expected = None if kind is None else (kind, before.count(b"\n") + 1)
    assert (problem and (problem.kind, problem.line)) == expected


def test_so_many_lines_with_the_text_are_counted_and_no_more(tmp_path: Path) -> None:
    with (
        open_file_beneath(written(tmp_path, b"a\n" * 150_000), "rank-0.stdout") as file,
        within_cpu_seconds(5),
    ):
        found = search_log(file, "a")
    assert (found.count, len(found.matches), found.covers_whole_file) == (100_000, 500, False)
    assert found.matches[-1].line == 500
    assert found.searched_bytes == 2 * 100_000 - 2


def test_lines_keep_their_numbers_across_what_is_read_at_once(tmp_path: Path) -> None:
    lines = [b"line %d" % number + b"." * (number % 700) for number in range(1, 3000)]
    wanted = dict.fromkeys((1, 700, 701, 1900, 2999), b"needle")
    data = b"\n".join(wanted.get(number, line) for number, line in enumerate(lines, start=1))
    with open_file_beneath(written(tmp_path, data), "rank-0.stdout") as file:
        hits = search_log(file, "needle").matches
    assert [hit.line for hit in hits] == sorted(wanted)
    assert all(data[hit.offset :].startswith(b"needle") for hit in hits)
    assert {hit.text for hit in hits} == {"needle"}
