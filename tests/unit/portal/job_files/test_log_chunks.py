"""Logs by byte offset: whatever is in them, no byte is missing and none comes twice."""

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, read_small_file
from portal.job_files.log_chunks import CHUNK_BYTES, list_attempt_logs, read_log_chunk
from portal.job_files.log_search import count_lines, find_first_problem, search_log


def written(folder: Path, data: bytes, name: str = "rank-0.stdout") -> Path:
    (folder / name).write_bytes(data)
    return folder


def read_all(folder: Path, limit: int) -> bytes:
    pieces, offset = [], 0
    with open_file_beneath(folder, "rank-0.stdout") as file:
        while True:
            piece = read_log_chunk(file, offset, limit)
            assert piece.start == offset
            assert piece.next - piece.start == len(piece.data) <= limit
            pieces.append(piece.data)
            if piece.is_end:
                return b"".join(pieces)
            assert piece.next > offset, "a reader would stand still"
            offset = piece.next


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"one line\n",
        b"no line end",
        b"x" * 5000,
        "한국어 로그 줄\n".encode() * 700,
        "끝".encode()[:2],
        b"\xff\xfe\x80" * 999,
        b"\xe2\x82" * 777,
        bytes(random.Random(7).randbytes(9000)),
        b"\n" * 4000,
        b"progress 1\rprogress 2\rprogress 3\n" * 200,
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100, 4096, CHUNK_BYTES])
def test_pieces_put_together_are_the_file(tmp_path: Path, data: bytes, limit: int) -> None:
    assert read_all(written(tmp_path, data), limit) == data


def test_a_piece_ends_at_the_end_of_a_line(tmp_path: Path) -> None:
    with open_file_beneath(written(tmp_path, b"first\nsecond\nthird\n"), "rank-0.stdout") as file:
        piece = read_log_chunk(file, 0, 10)
    assert piece.data == b"first\n"
    assert not piece.is_end


def test_a_character_is_not_cut_in_two(tmp_path: Path) -> None:
    with open_file_beneath(written(tmp_path, "가나다라".encode()), "rank-0.stdout") as file:
        assert read_log_chunk(file, 0, 7).text == "가나"


def test_from_the_end_begins_with_a_whole_line(tmp_path: Path) -> None:
    with open_file_beneath(written(tmp_path, b"first\nsecond\nthird\n"), "rank-0.stdout") as file:
        piece = read_log_chunk(file, -9)
        assert (piece.start, piece.data) == (13, b"third\n")
        assert read_log_chunk(file, -6).data == b"third\n"
        assert read_log_chunk(file, -1000).start == 0


def test_beyond_the_end_is_the_end(tmp_path: Path) -> None:
    with open_file_beneath(written(tmp_path, b"short\n"), "rank-0.stdout") as file:
        piece = read_log_chunk(file, 10**15)
    assert (piece.start, piece.next, piece.data, piece.is_end) == (6, 6, b"", True)


def test_a_growing_file_continues_where_it_was_left(tmp_path: Path) -> None:
    path = written(tmp_path, b"begun, not en")
    with open_file_beneath(path, "rank-0.stdout") as file:
        first = read_log_chunk(file, 0)
        with (path / "rank-0.stdout").open("ab") as program:
            program.write(b"ded\nnext\n")
        second = read_log_chunk(file, first.next)
    assert first.data + second.data == b"begun, not ended\nnext\n"


def test_a_megabyte_line_comes_in_pieces(tmp_path: Path) -> None:
    data = b"a" * 1_000_000 + b"\nafter\n"
    assert read_all(written(tmp_path, data), CHUNK_BYTES) == data


def test_streams_are_listed_in_order_and_nothing_else(tmp_path: Path) -> None:
    for name in (
        "rank-10.stdout",
        "rank-2.stderr",
        "rank-2.stdout",
        "launcher.stderr",
        "rank-0.exit.json",
        "metrics.jsonl",
        "rank-01.stdout",
        "rank-0.stdout.gz",
        "..stdout",
    ):
        written(tmp_path, b"x", name)
    assert [stream.name for stream in list_attempt_logs(tmp_path)] == [
        "rank-2.stdout", "rank-2.stderr", "rank-10.stdout", "launcher.stderr",
    ]  # fmt: skip


def test_a_log_that_is_not_a_plain_file_is_named_and_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "groundcrew.db"
    secret.write_text("secret")
    out = tmp_path / "out"
    out.mkdir()
    (out / "rank-0.stdout").symlink_to(secret)
    os.mkfifo(out / "rank-0.stderr")
    (out / "rank-1.stdout").mkdir()
    os.link(secret, out / "rank-1.stderr")
    streams = list_attempt_logs(tmp_path, "out")
    assert [stream.name for stream in streams if stream.is_plain] == []
    assert len(streams) == 4
    for stream in streams:
        with pytest.raises(FileNotPlain), open_file_beneath(tmp_path, "out", stream.name):
            pass
        assert read_small_file(tmp_path, "out", stream.name) is None


def test_a_folder_replaced_by_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    written(tmp_path / "elsewhere", b"secret")
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert list_attempt_logs(tmp_path, "out") == []
    with pytest.raises(FileNotPlain), open_file_beneath(tmp_path, "out", "rank-0.stdout"):
        pass


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc/passwd", "a\0b"])
def test_a_name_is_one_component(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileMissing), open_file_beneath(tmp_path, name, "passwd"):
        pass


def test_a_small_file_that_is_large_is_not_read(tmp_path: Path) -> None:
    written(tmp_path, b"x" * 70_000, "usage.json")
    assert read_small_file(tmp_path, "usage.json") is None
    assert read_small_file(tmp_path, "missing.json") is None


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


def test_lines_are_counted_up_to_an_offset(tmp_path: Path) -> None:
    with open_file_beneath(written(tmp_path, b"a\nb\nc\n"), "rank-0.stdout") as file:
        assert [count_lines(file, end) for end in (0, 2, 3, 6, 100)] == [0, 1, 1, 3, 3]


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


PAGE_SCRIPT = Path(__file__).parents[4] / "portal" / "static" / "js" / "log_text.js"
EACH_LETTER = """
const { level, shown } = await import(process.argv[2]);
const found = JSON.parse(process.argv[3]).map((letter) => {
  const line = letter.repeat(256 * 1024);
  const levels = [line, `${line}x`, `${letter}ValueError: shapes`].map(level);
  return [...levels, shown(new TextEncoder().encode(`${line}x`), "cut").length];
});
console.log(JSON.stringify(found));
"""


def test_the_pages_script_shows_a_line_of_one_letter_at_once(tmp_path: Path) -> None:
    """Minutes of CPU time, of which the process gets twenty seconds, where it begins again at each letter."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node, which runs the page's script outside a browser")
    (tmp_path / "each.mjs").write_text(EACH_LETTER)
    (tmp_path / "log_text.mjs").write_text(PAGE_SCRIPT.read_text())
    letters = [letter for letter in LETTERS if letter != "\x1b"]
    command = [node, str(tmp_path / "each.mjs"), str(tmp_path / "log_text.mjs"), json.dumps(letters)]
    done = subprocess.run(["prlimit", "--cpu=20", *command], capture_output=True, text=True, check=True)
    for letter, (line, with_end, error, length) in zip(letters, json.loads(done.stdout), strict=True):
        assert (line, with_end) == ("", ""), letter
        assert error == "error" or letter.isalnum() or letter == "_", letter
        assert length <= 4_010, letter
