"""Lines are appended once each, also after a crash in the middle of one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.files.append_only import append_lines
from cluster.files.safe_read import FileNotPlain

LINES = [b"one\n", b"two\n"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        (None, 2, b"one\ntwo\n"),
        (b"zero\n", 2, b"zero\none\ntwo\n"),
        (b"one\n", 1, b"one\ntwo\n"),
        (b"one\ntwo\n", 0, b"one\ntwo\n"),
        (b"one\ntw", 1, b"one\ntwo\n"),
        (b"cut off", 2, b"cut off\none\ntwo\n"),
    ],
)
def test_each_line_stands_there_once(
    folder: int, tmp_path: Path, before: bytes | None, added: int, after: bytes
) -> None:
    if before is not None:
        (tmp_path / "log").write_bytes(before)
    assert append_lines(folder, "log", LINES) == added
    assert (tmp_path / "log").read_bytes() == after


def test_nothing_is_written_through_a_second_name(folder: int, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    os.link(tmp_path / "other", tmp_path / "log")
    with pytest.raises(FileNotPlain):
        append_lines(folder, "log", LINES)
    assert (tmp_path / "other").read_bytes() == b""
