"""One look per folder wakes all of its streams, and a folder that no stream follows is forgotten."""

import os
import threading
from pathlib import Path

import pytest

from portal.live import file_watcher
from portal.live.file_watcher import FileSizes, FileWatcher, Folder, FolderSubscription

FOLDER = ("jobs", "1", "out")
WITHIN_SECONDS = 30


class Stream:
    """Counts how often it was woken."""

    def __init__(self) -> None:
        self.wakes = 0
        self.is_awake = threading.Event()

    def wake(self) -> None:
        self.wakes += 1
        self.is_awake.set()

    def next_sizes(self, watcher: FileWatcher, files: FolderSubscription) -> FileSizes | None:
        assert self.is_awake.wait(WITHIN_SECONDS)
        self.is_awake.clear()
        return watcher.take(files)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path.joinpath(*FOLDER)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def watcher(tmp_path: Path) -> FileWatcher:
    """Looks only when the test says so."""
    watcher = FileWatcher(tmp_path)
    watcher.thread = threading.current_thread()
    return watcher


def test_a_stream_is_woken_when_its_files_appear_and_grow(tmp_path: Path, out: Path) -> None:
    watcher, stream = FileWatcher(tmp_path), Stream()
    files = watcher.subscribe(FOLDER, stream.wake)
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    assert stream.next_sizes(watcher, files) == FileSizes({"rank-0.stdout": 6})
    (out / "metrics.jsonl").write_bytes(b"{}\n")
    assert stream.next_sizes(watcher, files) == FileSizes({"rank-0.stdout": 6}, 3)
    assert watcher.take(files) is None, "nothing has changed since"
    watcher.unsubscribe(files)


def test_a_watcher_that_had_no_streams_wakes_the_next(tmp_path: Path, out: Path) -> None:
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    watcher = FileWatcher(tmp_path)
    for _ in range(2):
        stream = Stream()
        files = watcher.subscribe(FOLDER, stream.wake)
        assert stream.next_sizes(watcher, files) == FileSizes({"rank-0.stdout": 6})
        watcher.unsubscribe(files)


def test_a_folder_is_read_once_for_all_of_its_streams(
    watcher: FileWatcher, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Folder] = []

    def read(root: Path, folder: Folder) -> FileSizes:
        reads.append(folder)
        return FileSizes({"rank-0.stdout": len(reads)})

    monkeypatch.setattr(file_watcher, "read_file_sizes", read)
    streams = [Stream() for _ in range(100)]
    subscribed = [watcher.subscribe(FOLDER, stream.wake) for stream in streams]
    watcher.look()
    watcher.look()
    assert reads == [FOLDER] * 2
    assert {stream.wakes for stream in streams} == {1}, "a stream that is awake is not woken again"
    assert [watcher.take(files) for files in subscribed] == [FileSizes({"rank-0.stdout": 2})] * 100
    watcher.look()
    assert {stream.wakes for stream in streams} == {2}


def test_a_stream_that_comes_later_has_the_sizes_at_once(watcher: FileWatcher, out: Path) -> None:
    (out / "rank-0.stderr").write_bytes(b"!")
    first, second = Stream(), Stream()
    watcher.subscribe(FOLDER, first.wake)
    watcher.look()
    files = watcher.subscribe(FOLDER, second.wake)
    assert watcher.take(files) == FileSizes({"rank-0.stderr": 1})
    assert (first.wakes, second.wakes) == (1, 1)


def test_a_folder_without_streams_is_forgotten(watcher: FileWatcher, out: Path) -> None:
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    gone, stays = Stream(), Stream()
    files = watcher.subscribe(FOLDER, gone.wake)
    others = watcher.subscribe(FOLDER, stays.wake)
    watcher.unsubscribe(files)
    watcher.unsubscribe(files)
    watcher.unsubscribe(None)
    watcher.look()
    assert (gone.wakes, stays.wakes) == (0, 1)
    watcher.unsubscribe(others)
    assert not watcher.subscriptions and not watcher.sizes
    watcher.look()
    assert not watcher.sizes


def test_a_folder_that_cannot_be_read_stops_no_other(
    watcher: FileWatcher, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes_of = file_watcher.read_file_sizes

    def read(root: Path, folder: Folder) -> FileSizes:
        if folder != FOLDER:
            raise OSError(5, "Input/output error")
        return sizes_of(root, folder)

    monkeypatch.setattr(file_watcher, "read_file_sizes", read)
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    broken, whole = Stream(), Stream()
    unreadable = watcher.subscribe(("jobs", "0", "out"), broken.wake)
    watcher.subscribe(FOLDER, whole.wake)
    watcher.look()
    assert (broken.wakes, whole.wakes) == (0, 1)
    assert watcher.sizes.keys() == {FOLDER, unreadable.folder}, (
        "each was looked at: the next look comes after a pause"
    )
    watcher.unsubscribe(unreadable)
    assert not watcher.unreadable


def test_a_link_in_the_folder_has_no_size(tmp_path: Path, out: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the database")
    (out / "metrics.jsonl").symlink_to(secret)
    (out / "rank-0.stdout").symlink_to(secret)
    os.mkfifo(out / "rank-1.stdout")
    nothing = {"rank-0.stdout": 0, "rank-1.stdout": 0}
    assert file_watcher.read_file_sizes(tmp_path, FOLDER) == FileSizes(nothing, None)
    assert file_watcher.read_file_sizes(tmp_path, ("nowhere",)) == FileSizes()
