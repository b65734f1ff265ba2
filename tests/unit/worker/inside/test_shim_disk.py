"""The size of a folder and a full disk are measured as the shim and the scheduler do."""

import errno
import os
from pathlib import Path

import pytest

from tests.machine.small_disk import MIB, fill, small_disk
from worker.inside import shim_disk


def test_the_size_of_a_folder_is_what_it_takes_on_the_disk(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "out"
    folder.mkdir()
    (folder / "deep" / "deeper").mkdir(parents=True)
    elsewhere.write_bytes(b"x" * MIB)
    before = shim_disk.folder_size(str(folder))
    assert before is not None
    (folder / "deep" / "deeper" / "checkpoint").write_bytes(b"x" * MIB)
    (folder / "link").symlink_to(elsewhere)
    (folder / "loop").symlink_to(folder)
    with (folder / "sparse").open("wb") as file:
        file.truncate(1024 * MIB)
    size = shim_disk.folder_size(str(folder))
    assert size is not None and MIB <= size - before < 2 * MIB


def test_a_file_with_two_names_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * MIB)
    alone = shim_disk.folder_size(str(tmp_path))
    os.link(tmp_path / "a", tmp_path / "b")
    assert shim_disk.folder_size(str(tmp_path)) == alone


def test_no_folder_is_too_deep_or_too_large_to_end(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert shim_disk.folder_size(str(tmp_path)) is not None
    for number in range(50):
        (tmp_path / str(number)).write_bytes(b"x" * 4096)
    some, all_of_them = shim_disk.folder_size(str(tmp_path), 10), shim_disk.folder_size(str(tmp_path))
    assert some is not None and all_of_them is not None and some < all_of_them
    assert shim_disk.folder_size(str(tmp_path / "missing")) is None


def test_a_full_disk_is_seen_and_remembered_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(2) as folder:
        watch = shim_disk.DiskFullWatch(str(folder))
        watch.check()
        assert not watch.was_full()
        fill(folder / "filler")
        watch.check()
        (folder / "filler").unlink()
        watch.check()
        assert watch.was_full() and watch.full_at is not None
        assert watch.was_full(watch.full_at + 9) and not watch.was_full(watch.full_at + 11)


@pytest.mark.parametrize(
    ("number", "is_full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False)]
)
def test_what_the_shim_could_not_write_itself_counts(tmp_path: Path, number: int, is_full: bool) -> None:
    watch = shim_disk.DiskFullWatch(str(tmp_path))
    watch.note_write_error(OSError(number, "said"))
    assert watch.was_full() is is_full


def test_what_processes_have_written_is_read_where_they_live() -> None:
    assert shim_disk.bytes_written_by([os.getpid()]) >= 0
    assert shim_disk.bytes_written_by([2**22 + 1]) == 0
