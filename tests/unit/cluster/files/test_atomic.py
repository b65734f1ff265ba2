"""A file is replaced in one step, with the mode and owner that were asked for, or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.files.atomic import open_atomically, write_atomically
from cluster.files.safe_files import UnsafeFile


class Interrupted(Exception):
    """What a block may raise."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", [b"new\n", "새것\n"], ids=["bytes", "text"])
def test_a_file_has_its_new_content_and_nothing_is_beside_it(tmp_path: Path, content: bytes | str) -> None:
    (tmp_path / "file").write_text("old, and much longer than the new one\n")
    write_atomically(tmp_path / "file", content)
    expected = content if isinstance(content, bytes) else content.encode()
    assert (tmp_path / "file").read_bytes() == expected
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_mode_is_the_asked_one_whatever_the_umask_is(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "secret", b"")
        write_atomically(tmp_path / "program", b"", 0o755)
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in ("secret", "program")] == [0o600, 0o755]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_file_has_its_owner_before_it_has_its_name(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"", 0o640, (0, 65534))
    status = (tmp_path / "file").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (0, 65534, 0o640)


def test_the_file_before_stands_until_the_block_has_ended(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"old")
    with open_atomically(tmp_path / "file") as file:
        file.write(b"new")
        file.flush()
        assert (tmp_path / "file").read_bytes() == b"old"
        (unfinished,) = set(names(tmp_path)) - {"file"}
        assert unfinished.endswith(".unfinished")
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("is_there", [True, False])
def test_where_the_block_raises_nothing_has_changed(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        write_atomically(tmp_path / "file", b"old")
    with pytest.raises(Interrupted), open_atomically(tmp_path / "file") as file:
        file.write(b"half")
        raise Interrupted
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"] * is_there


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "file", b"new")
    assert names(tmp_path) == []


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "file").symlink_to("theirs")
    write_atomically(tmp_path / "file", b"ours")
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert not (tmp_path / "file").is_symlink() and (tmp_path / "file").read_text() == "ours"


def test_a_path_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFile):
        write_atomically(tmp_path / "..", b"")


@pytest.mark.parametrize(
    ("is_synced", "expected"), [(True, ["file", "rename", "folder"]), (False, ["rename"])]
)
def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_synced: bool, expected: list[str]
) -> None:
    calls: list[str] = []
    rename, is_folder = os.rename, lambda descriptor: Path(f"/proc/self/fd/{descriptor}").is_dir()
    monkeypatch.setattr(os, "fsync", lambda each: calls.append("folder" if is_folder(each) else "file"))
    monkeypatch.setattr(os, "rename", lambda *each, **more: (calls.append("rename"), rename(*each, **more)))
    write_atomically(tmp_path / "file", b"new", is_synced=is_synced)
    assert calls == expected


def test_many_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from cluster.files.atomic import write_atomically\n"
        "for _ in range(50): write_atomically(Path(sys.argv[1]), sys.argv[2] * 10000, is_synced=False)\n"
    )
    root = Path(__file__).parents[4]
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "file"), letter], cwd=root)
        for letter in "ab"
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert (tmp_path / "file").read_text() in ("a" * 10000, "b" * 10000)
    assert names(tmp_path) == ["file"]
