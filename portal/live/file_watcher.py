"""One thread per process looks at the files of watched attempts and wakes the streams whose files have changed."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, open_file_size
from portal.job_files.log_chunks import list_attempt_logs
from portal.job_files.metrics_cache import METRICS_FILE

log = structlog.get_logger()

LOOK_SECONDS = 0.25

Folder = tuple[str, ...]
"""The path of an attempt's folder beneath the storage folder."""


@dataclass(frozen=True)
class FileSizes:
    """Bytes of each log file, and of the metrics (None: there is no plain file of that name)."""

    logs: dict[str, int] = field(default_factory=dict)
    metrics: int | None = None


NO_FILES = FileSizes()


def read_file_sizes(root: Path, folder: Folder) -> FileSizes:
    """Empty where there is no folder yet."""
    logs = {log.name: log.size for log in list_attempt_logs(root, *folder)}
    try:
        with open_file_beneath(root, *folder, METRICS_FILE) as file:
            return FileSizes(logs, open_file_size(file))
    except (FileMissing, FileNotPlain):
        return FileSizes(logs)


@dataclass(eq=False)
class FolderSubscription:
    """What one stream follows. `wake` is called once when the sizes change, and again only after they were taken."""

    folder: Folder
    wake: Callable[[], None]
    sizes: FileSizes = NO_FILES
    has_changed: bool = False


class FileWatcher:
    """Looks at each folder once per pause, however many streams follow it; a folder without streams is forgotten."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.subscriptions: dict[Folder, set[FolderSubscription]] = {}
        self.sizes: dict[Folder, FileSizes] = {}
        self.unreadable: set[Folder] = set()
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None

    def subscribe(self, folder: Folder, wake: Callable[[], None]) -> FolderSubscription:
        """The first sizes are there at once if another stream follows the folder, else after the next look."""
        subscription = FolderSubscription(folder, wake)
        with self.changed:
            self.subscriptions.setdefault(folder, set()).add(subscription)
            self.notify(subscription, self.sizes.get(folder, NO_FILES))
            if self.thread is None:
                # Begun with the first stream, so that it is a thread of the serving process, not of its parent.
                self.thread = threading.Thread(target=self.watch_forever, name="file-watcher", daemon=True)
                self.thread.start()
            self.changed.notify()
        return subscription

    def unsubscribe(self, subscription: FolderSubscription | None) -> None:
        """Safe to repeat."""
        with self.changed:
            others = self.subscriptions.get(subscription.folder) if subscription else None
            if subscription and others:
                others.discard(subscription)
                if not others:
                    del self.subscriptions[subscription.folder]
                    self.sizes.pop(subscription.folder, None)
                    self.unreadable.discard(subscription.folder)

    def take(self, subscription: FolderSubscription) -> FileSizes | None:
        """The newest sizes; None if they are those that were taken last."""
        with self.changed:
            if not subscription.has_changed:
                return None
            subscription.has_changed = False
            return subscription.sizes

    def watch_forever(self) -> None:
        while True:
            with self.changed:
                # A new folder is looked at without a pause.
                self.changed.wait_for(lambda: self.subscriptions.keys() - self.sizes, timeout=LOOK_SECONDS)
                while not self.subscriptions:
                    self.changed.wait()
            self.look()

    def look(self) -> None:
        with self.changed:
            folders = list(self.subscriptions)
        for folder in folders:
            try:
                sizes = read_file_sizes(self.root, folder)
                self.unreadable.discard(folder)
            except OSError as error:  # The other folders may lie on storage that works.
                if folder not in self.unreadable:
                    log.warning("files cannot be watched", folder="/".join(folder), error=str(error))
                self.unreadable.add(folder)
                sizes = self.sizes.get(folder, NO_FILES)
            with self.changed:
                if folder in self.subscriptions:
                    self.sizes[folder] = sizes
                for subscription in self.subscriptions.get(folder, ()):
                    self.notify(subscription, sizes)

    def notify(self, subscription: FolderSubscription, sizes: FileSizes) -> None:
        if sizes == subscription.sizes:
            return
        subscription.sizes = sizes
        if not subscription.has_changed:
            subscription.has_changed = True
            subscription.wake()
