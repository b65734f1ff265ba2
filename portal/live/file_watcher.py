"""One thread reads the sizes of the files of watched attempts and reports which have changed. The kernel reports once
in which folder something happens, and again after the next reading, so that a job that writes a thousand lines a second
costs no more than one that writes ten. If other machines write to the storage, the kernel does not know of it, and the
thread reads the sizes after each pause.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from inotify_simple import INotify, flags

from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    open_file_beneath,
    open_file_size,
    open_folder_beneath,
)
from portal.job_files.folders import METRICS_FILE
from portal.job_files.logs.log_chunks import list_attempt_logs

log = structlog.get_logger()

LOOK_SECONDS = 0.2
"""The shortest time between two readings of the same folder."""
UNASKED_SECONDS = 3.0
"""A watched folder is read after this time although nothing happens in it."""
FILE_CHANGES = (
    flags.MODIFY
    | flags.CREATE
    | flags.DELETE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.DELETE_SELF
    | flags.MOVE_SELF
)
ONCE = flags.ONESHOT | flags.ONLYDIR
LOCAL_FILE_SYSTEMS = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)
"""File systems that nobody changes except through this machine's kernel."""

Folder = tuple[str, ...]
"""The path of an attempt's folder beneath the storage folder."""


@dataclass(frozen=True)
class FileSizes:
    """Bytes of each log file, and of the metrics (None: there is no plain file of that name)."""

    logs: dict[str, int] = field(default_factory=dict)
    metrics: int | None = None


NO_FILES = FileSizes()


def read_file_sizes(root: Path, folder: Folder) -> FileSizes:
    """Empty if there is no folder yet."""
    logs = {log.name: log.size for log in list_attempt_logs(root, *folder)}
    try:
        with open_file_beneath(root, *folder, METRICS_FILE) as file:
            return FileSizes(logs, open_file_size(file))
    except (FileMissing, FileNotPlain):
        return FileSizes(logs)


@dataclass
class WatchedFolder:
    """`look_at` is the time of the next reading unless the kernel reports a change before."""

    sizes: FileSizes = NO_FILES
    look_at: float = 0.0
    looked_at: float = 0.0
    watch: int | None = None
    """The kernel's number of the watch, until it has reported a change."""
    is_unreadable: bool = False


class FileWatcher:
    """Reads each folder once, however many tabs follow it. `watch` and `forget` may be called in any thread."""

    def __init__(self, root: Path, tell: Callable[[Mapping[Folder, FileSizes]], None]) -> None:
        """`tell` is called with the folders whose sizes have changed, in the watcher's thread."""
        self.root = root
        self.tell = tell
        self.folders: dict[Folder, WatchedFolder] = {}
        self.folder_of_watch: dict[int, Folder] = {}
        self.lock = threading.Lock()
        self.inotify: INotify | None = None
        self.wakeup: int | None = None

    def start(self) -> None:
        """Starts the thread, which runs until the process ends."""
        self.inotify = open_inotify(self.root)
        self.wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        threading.Thread(target=self.watch_forever, name="file-watcher", daemon=True).start()

    def watch(self, folder: Folder) -> FileSizes:
        """The sizes as far as they are known: the next reading reports those of a new folder."""
        with self.lock:
            watched = self.folders.get(folder)
            if watched is None:
                watched = self.folders[folder] = WatchedFolder()
                if self.wakeup is not None:
                    os.eventfd_write(self.wakeup, 1)
            return watched.sizes

    def forget(self, folder: Folder) -> None:
        with self.lock:
            watched = self.folders.pop(folder, None)
        if watched and watched.watch is not None and self.inotify:
            with suppress(OSError):  # The kernel has reported a change meanwhile.
                self.inotify.rm_watch(watched.watch)

    def watch_forever(self) -> None:
        assert self.wakeup is not None
        poll = select.poll()
        poll.register(self.wakeup, select.POLLIN)
        if self.inotify:
            poll.register(self.inotify.fileno(), select.POLLIN)
        while True:
            poll.poll(self.pause_before_look(time.monotonic()))
            with suppress(BlockingIOError):
                os.eventfd_read(self.wakeup)
            self.take_hints()
            self.look(time.monotonic())

    def pause_before_look(self, now: float) -> float | None:
        """Milliseconds; None if nothing is watched."""
        with self.lock:
            times = [watched.look_at for watched in self.folders.values()]
        return max(0.0, min(times) - now) * 1000 if times else None

    def take_hints(self) -> None:
        """Takes the reports of the kernel; each makes its folder due for reading."""
        for event in self.inotify.read(timeout=0) if self.inotify else ():
            with self.lock:
                folder = self.folder_of_watch.pop(event.wd, None)
                watched = self.folders.get(folder) if folder else None
                if watched and watched.watch == event.wd:
                    watched.watch = None
                    watched.look_at = min(watched.look_at, watched.looked_at + LOOK_SECONDS)

    def look(self, now: float) -> None:
        """Reads every folder that is due."""
        with self.lock:
            due = [(folder, watched) for folder, watched in self.folders.items() if watched.look_at <= now]
        changed = dict(self.look_at_each(due, now))
        if changed:
            self.tell(changed)

    def look_at_each(
        self, due: Iterable[tuple[Folder, WatchedFolder]], now: float
    ) -> Iterable[tuple[Folder, FileSizes]]:
        for folder, watched in due:
            try:
                is_told = self.ask_kernel(
                    folder, watched
                )  # The watch begins before the reading, so that later changes are reported.
                sizes = read_file_sizes(self.root, folder)
                watched.is_unreadable = False
            except OSError as error:  # The other folders may lie on storage that works.
                if not watched.is_unreadable:
                    log.warning("files cannot be watched", folder="/".join(folder), error=str(error))
                watched.is_unreadable, is_told, sizes = True, False, watched.sizes
            watched.looked_at, watched.look_at = now, now + (UNASKED_SECONDS if is_told else LOOK_SECONDS)
            if sizes != watched.sizes:
                watched.sizes = sizes
                yield folder, sizes

    def ask_kernel(self, folder: Folder, watched: WatchedFolder) -> bool:
        """Whether the kernel will report the next change."""
        if self.inotify is None or watched.watch is not None:
            return watched.watch is not None
        try:
            with open_folder_beneath(self.root, *folder) as opened:
                watch = self.inotify.add_watch(f"/proc/self/fd/{opened}", FILE_CHANGES | ONCE)
        except (
            FileMissing,
            FileNotPlain,
            OSError,
        ):  # OSError is raised if this user already has the most watches that a user may have.
            return False
        with self.lock:
            watched.watch = watch
            self.folder_of_watch[watch] = folder
        return True


def open_inotify(root: Path) -> INotify | None:
    """Returns None if the kernel would not report what other machines write."""
    if file_system_of(root, Path("/proc/self/mountinfo").read_text()) not in LOCAL_FILE_SYSTEMS:
        return None
    try:
        return INotify()
    except OSError as error:
        log.warning("the kernel cannot be asked for changes of files", error=str(error))
        return None


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system on which the path lies, by the lines of /proc/self/mountinfo (proc(5))."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = before.split()[4].encode().decode("unicode_escape")
        if path.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), after.split()[0]
    return kind
