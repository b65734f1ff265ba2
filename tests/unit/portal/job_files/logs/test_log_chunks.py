"""Logs by byte offset: whatever is in them, no byte is missing and none comes twice."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, read_small_file
from portal.job_files.logs.log_chunks import CHUNK_BYTES, list_attempt_logs, read_log_chunk


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


LETTERS = "AaZz_09 .-:\t\x1b\r\u00e9\ud55c"


PAGE_SCRIPT = Path(__file__).parents[5] / "portal" / "static" / "js" / "log_lines.js"
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
    (tmp_path / "log_lines.mjs").write_text(PAGE_SCRIPT.read_text())
    letters = [letter for letter in LETTERS if letter != "\x1b"]
    command = [node, str(tmp_path / "each.mjs"), str(tmp_path / "log_lines.mjs"), json.dumps(letters)]
    done = subprocess.run(["prlimit", "--cpu=20", *command], capture_output=True, text=True, check=True)
    for letter, (line, with_end, error, length) in zip(letters, json.loads(done.stdout), strict=True):
        assert (line, with_end) == ("", ""), letter
        assert error == "error" or letter.isalnum() or letter == "_", letter
        assert length <= 4_010, letter
