"""Lines are numbered as if they were counted from the beginning, and each byte is counted about once."""

import os
import random
from pathlib import Path

import pytest

from portal.job_files.logs import line_counter
from portal.job_files.logs.line_counter import BLOCK_BYTES, COUNTED_BYTES, MARK_BYTES, LineCounter


def count(counter: LineCounter, path: Path, end: int) -> int | None:
    with path.open("rb", buffering=0) as file:
        return counter.count_before(file, end)


def random_log(chance: random.Random, size: int) -> bytes:
    lines = []
    while size > 0:
        lines.append(b"x" * min(size - 1, chance.choice([0, 1, 70, 500, 100_000])) + b"\n")
        size -= len(lines[-1])
    return b"".join(lines)


def test_line_ends_before_a_byte_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a\nb\nc\n")
    counter = LineCounter()
    assert [count(counter, log, end) for end in (0, 1, 2, 3, 6, 100)] == [0, 0, 1, 1, 3, 3]
    assert count(counter, log, COUNTED_BYTES + 1) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_growing_file_is_counted_as_from_its_beginning(tmp_path: Path, seed: int) -> None:
    chance, log, whole, counter = random.Random(seed), tmp_path / "log", b"", LineCounter()
    for _ in range(12):
        whole += random_log(chance, chance.randrange(3 * MARK_BYTES))
        log.write_bytes(whole)
        for _ in range(8):
            end = chance.randrange(len(whole) + 10)
            assert count(counter, log, end) == whole[:end].count(b"\n")
        assert count(counter, log, len(whole)) == whole.count(b"\n")


def test_only_what_came_since_the_last_mark_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, read = tmp_path / "log", []
    line, pread = b"x" * 69 + b"\n", os.pread

    def noted(descriptor: int, size: int, offset: int) -> bytes:
        read.append(len(data := pread(descriptor, size, offset)))
        return data

    monkeypatch.setattr(line_counter.os, "pread", noted)
    log.write_bytes(line * 100_000)
    counter = LineCounter()
    assert count(counter, log, log.stat().st_size) == 100_000
    assert sum(read) < 1.1 * log.stat().st_size
    read.clear()
    for number in range(1, 11):
        with log.open("ab") as file:
            file.write(line)
        assert count(counter, log, log.stat().st_size) == 100_000 + number
    assert sum(read) < 10 * (MARK_BYTES + BLOCK_BYTES)
    assert max(read) <= MARK_BYTES + BLOCK_BYTES


@pytest.mark.parametrize("how", ["shorter", "longer", "other lines"])
def test_a_file_that_is_written_anew_is_counted_anew(tmp_path: Path, how: str) -> None:
    log, counter = tmp_path / "log", LineCounter()
    log.write_bytes(b"one line\n" * 100_000)
    assert count(counter, log, 900_000) == 100_000
    identity = log.stat().st_ino
    whole = {"shorter": b"1\n" * 10, "longer": b"2\n" * 600_000, "other lines": b"3456789\n" * 112_500}[how]
    with log.open("r+b") as file:
        file.truncate(0)
        file.write(whole)
    assert log.stat().st_ino == identity
    for end in (5, 300_000, 900_000):
        assert count(counter, log, end) == whole[:end].count(b"\n")


def test_marks_of_few_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_counter, "MAX_FILES", 2)
    counter, logs = LineCounter(), [tmp_path / str(number) for number in range(3)]
    for log in logs:
        log.write_bytes(b"\n")
        assert count(counter, log, 1) == 1
    assert [inode for _, inode in counter.files] == [log.stat().st_ino for log in logs[1:]]
