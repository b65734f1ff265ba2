"""Each folder is looked at once for all of its tabs, when the kernel tells of a change or after a pause."""

import os
import queue
from collections.abc import Mapping
from pathlib import Path

import pytest

from portal.live import file_watcher
from portal.live.file_watcher import (
    LOOK_SECONDS,
    UNASKED_SECONDS,
    FileSizes,
    FileWatcher,
    Folder,
    file_system_of,
)

FOLDER = ("jobs", "1", "out")
WITHIN_SECONDS = 30


class Told:
    """What the watcher has told."""

    def __init__(self) -> None:
        self.changes: queue.Queue[Mapping[Folder, FileSizes]] = queue.Queue()

    def next(self) -> Mapping[Folder, FileSizes]:
        return self.changes.get(timeout=WITHIN_SECONDS)

    def all(self) -> list[Mapping[Folder, FileSizes]]:
        return [self.changes.get_nowait() for _ in range(self.changes.qsize())]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path.joinpath(*FOLDER)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def watcher(tmp_path: Path, told: Told) -> FileWatcher:
    """Looks only when the test says so, and asks no kernel."""
    return FileWatcher(tmp_path, told.changes.put)


def test_files_that_appear_and_grow_are_told(tmp_path: Path, out: Path, told: Told) -> None:
    watcher = FileWatcher(tmp_path, told.changes.put)
    watcher.start()
    watcher.watch(FOLDER)
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    sizes = told.next()[FOLDER]
    if sizes == FileSizes({"rank-0.stdout": 0}):  # Between its making and its first line.
        sizes = told.next()[FOLDER]
    assert sizes == FileSizes({"rank-0.stdout": 6})
    (out / "metrics.jsonl").write_bytes(b"{}\n")
    assert told.next()[FOLDER].logs == {"rank-0.stdout": 6}
    watcher.forget(FOLDER)


def test_the_kernel_tells_of_a_change_long_before_the_next_look(
    tmp_path: Path, out: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watcher, "UNASKED_SECONDS", 1e6)
    watcher = FileWatcher(tmp_path, told.changes.put)
    watcher.start()
    if watcher.inotify is None:
        pytest.skip("this folder's file system is none of a machine's own")
    watcher.watch(FOLDER)
    log = out / "rank-0.stdout"
    log.write_bytes(b"")
    assert told.next() == {FOLDER: FileSizes({"rank-0.stdout": 0})}
    for size in (1, 2, 3):  # It is asked again after each look.
        with log.open("ab") as file:
            file.write(b"x")
        assert told.next() == {FOLDER: FileSizes({"rank-0.stdout": size})}
    watcher.forget(FOLDER)


def test_a_folder_that_is_watched_anew_is_looked_at_anew(watcher: FileWatcher, out: Path, told: Told) -> None:
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    for _ in range(2):
        assert watcher.watch(FOLDER) == FileSizes()
        watcher.look(0.0)
        assert told.all() == [{FOLDER: FileSizes({"rank-0.stdout": 6})}]
        assert watcher.watch(FOLDER) == FileSizes({"rank-0.stdout": 6}), (
            "who comes later has the sizes at once"
        )
        watcher.forget(FOLDER)
        watcher.forget(FOLDER)
    watcher.look(100.0)
    assert told.all() == [] and watcher.folders == {}


def test_a_folder_that_the_kernel_does_not_watch_is_looked_at_after_each_pause(
    watcher: FileWatcher, out: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Folder] = []

    def read(root: Path, folder: Folder) -> FileSizes:
        reads.append(folder)
        return FileSizes({"rank-0.stdout": len(reads)})

    monkeypatch.setattr(file_watcher, "read_file_sizes", read)
    assert watcher.pause_before_look(0.0) is None
    for _ in range(100):
        watcher.watch(FOLDER)
    for now in (0.0, LOOK_SECONDS / 2, LOOK_SECONDS):
        watcher.look(now)
    assert reads == [FOLDER] * 2
    assert watcher.pause_before_look(LOOK_SECONDS) == pytest.approx(1000 * LOOK_SECONDS)
    assert [each[FOLDER].logs["rank-0.stdout"] for each in told.all()] == [1, 2]


def test_a_folder_that_the_kernel_watches_is_left_alone_but_not_forever(
    watcher: FileWatcher, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "ask_kernel", lambda *_: True)
    watcher.watch(FOLDER)
    watcher.look(0.0)
    assert watcher.pause_before_look(0.0) == pytest.approx(1000 * UNASKED_SECONDS)


def test_a_folder_that_cannot_be_read_stops_no_other(
    watcher: FileWatcher, out: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes_of = file_watcher.read_file_sizes

    def read(root: Path, folder: Folder) -> FileSizes:
        if folder != FOLDER:
            raise OSError(5, "Input/output error")
        return sizes_of(root, folder)

    monkeypatch.setattr(file_watcher, "read_file_sizes", read)
    (out / "rank-0.stdout").write_bytes(b"hello\n")
    broken = ("jobs", "0", "out")
    watcher.watch(broken)
    watcher.watch(FOLDER)
    watcher.look(0.0)
    assert told.all() == [{FOLDER: FileSizes({"rank-0.stdout": 6})}]
    assert watcher.folders[broken].is_unreadable
    assert watcher.pause_before_look(0.0) == pytest.approx(1000 * LOOK_SECONDS)


MOUNTS = """\
22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
28 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
90 28 0:50 / /srv/groundcrew rw shared:40 - nfs4 server:/export rw
91 90 0:51 / /srv/groundcrew/a\\040folder rw shared:41 - xfs /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/srv/groundcrew/storage", "nfs4"),
        ("/srv/groundcrew", "nfs4"),
        ("/srv/groundcrew-2", "ext4"),
        ("/srv/groundcrew/a folder/x", "xfs"),
    ],
)
def test_the_nearest_mount_names_the_file_system(path: str, kind: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == kind


def test_a_link_where_a_folder_was_is_not_watched(
    tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens elsewhere is nobody's to know."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "jobs" / "1").mkdir(parents=True)
    tmp_path.joinpath(*FOLDER).symlink_to(elsewhere)
    watcher = FileWatcher(tmp_path, told.changes.put)
    with file_watcher.INotify() as inotify:
        watcher.inotify = inotify
        watcher.watch(FOLDER)
        watcher.look(0.0)
        assert watcher.folders[FOLDER].watch is None and watcher.folder_of_watch == {}


def test_a_link_in_the_folder_has_no_size(tmp_path: Path, out: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the database")
    (out / "metrics.jsonl").symlink_to(secret)
    (out / "rank-0.stdout").symlink_to(secret)
    os.mkfifo(out / "rank-1.stdout")
    nothing = {"rank-0.stdout": 0, "rank-1.stdout": 0}
    assert file_watcher.read_file_sizes(tmp_path, FOLDER) == FileSizes(nothing, None)
    assert file_watcher.read_file_sizes(tmp_path, ("nowhere",)) == FileSizes()
