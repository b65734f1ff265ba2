"""Keeps all open tabs: it checks their sessions again and again, and sends events and file sizes to the tabs that
follow them.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog

from cluster.event_bus import BusEvent
from portal.live.event_stream import StreamEnd, Tab
from portal.live.file_watcher import FileSizes, FileWatcher, Folder
from portal.live.rights import Rights, RightsReader

log = structlog.get_logger()

CHECK_SECONDS = 3.0
CHECK_PAUSE_SECONDS = 0.25
"""The pause between two checks, however many events ask for one."""
RIGHTS_TOPICS = frozenset({"trainings", "workspaces", "users"})
"""Rows that decide who may see a job."""


class OpenTabs:
    """Used in the event loop alone."""

    def __init__(self, rights: RightsReader, file_watcher: FileWatcher) -> None:
        self.rights = rights
        self.file_watcher = file_watcher
        self.tabs: set[Tab] = set()
        self.followers: dict[Folder, set[tuple[Tab, int]]] = {}
        """Tabs with their job, by the folder of its newest attempt."""
        self.watched_jobs: Counter[int] = Counter()
        """The number of tabs that watch a job."""
        self.is_check_due = asyncio.Event()
        self.timer: asyncio.TimerHandle | None = None

    @contextmanager
    def keep(self, tab: Tab, rights: Rights) -> Iterator[None]:
        """Keeps the tab in the list while its stream is open; `rights` are those with which it was opened."""
        if not self.tabs:
            self.timer = asyncio.get_running_loop().call_later(CHECK_SECONDS, self.is_check_due.set)
        self.tabs.add(tab)
        self.watched_jobs.update(tab.jobs.keys())
        try:
            self.follow_newest_attempts(tab, rights)
            yield
        finally:
            for job_id in list(tab.jobs):
                self.forget_job(tab, job_id)
            self.tabs.discard(tab)

    def close(self) -> None:
        """Ends each stream in order when the process stops. The browsers reconnect."""
        for tab in self.tabs:
            tab.finish(StreamEnd.SERVICE)

    def deliver_events(self, events: Sequence[BusEvent]) -> None:
        if any(self.may_change_rights(event) for event in events):
            self.is_check_due.set()
        for tab in self.tabs:
            tab.add_events(events)

    def may_change_rights(self, event: BusEvent) -> bool:
        """Whether a watched job may have a new attempt, or a person other rights. Row 0 stands for several jobs."""
        is_watched = event.topic == "jobs" and (event.row_id == 0 or event.row_id in self.watched_jobs)
        return is_watched or event.topic in RIGHTS_TOPICS

    def deliver_sizes(self, changed: Mapping[Folder, FileSizes]) -> None:
        for folder, sizes in changed.items():
            for tab, job_id in self.followers.get(folder, ()):
                tab.note_sizes(job_id, sizes)

    async def check_forever(self) -> None:
        """Checks the sessions every three seconds, and sooner after an event, while a tab is open."""
        loop = asyncio.get_running_loop()
        while True:
            await self.is_check_due.wait()
            self.is_check_due.clear()
            if self.tabs:
                await self.check()
                if self.timer:
                    self.timer.cancel()
                self.timer = loop.call_later(CHECK_SECONDS, self.is_check_due.set)
            await asyncio.sleep(CHECK_PAUSE_SECONDS)

    async def check(self) -> None:
        """Checks the sessions of all tabs. If that fails, every stream ends, because it is unknown which sessions are
        still valid.
        """
        tabs = list(self.tabs)
        wanted: dict[str, set[int]] = {}
        for tab in tabs:
            wanted.setdefault(tab.token, set()).update(tab.jobs)
        try:
            found = await self.rights.read_all(wanted)
            for tab in tabs:
                self.apply_rights(tab, found[tab.token])
        except Exception:
            log.exception("rights cannot be read", streams=len(tabs))
            self.close()

    def apply_rights(self, tab: Tab, rights: Rights) -> None:
        """Forgets the jobs that the person may no longer see."""
        if tab not in self.tabs:
            return
        if rights.person is None:
            tab.finish(StreamEnd.SESSION)
            return
        for job_id in tab.jobs.keys() - rights.attempts.keys():
            self.forget_job(tab, job_id)
        self.follow_newest_attempts(tab, rights)

    def follow_newest_attempts(self, tab: Tab, rights: Rights) -> None:
        for job_id, watched in list(tab.jobs.items()):
            before = watched.folder
            tab.follow_attempt(rights.attempts[job_id])
            folder = tab.jobs[job_id].folder
            if folder is not None and folder != before:
                self.stop_following(tab, job_id, before)
                self.followers.setdefault(folder, set()).add((tab, job_id))
                if sizes := self.file_watcher.watch(folder):
                    tab.note_sizes(job_id, sizes)

    def forget_job(self, tab: Tab, job_id: int) -> None:
        self.stop_following(tab, job_id, tab.jobs.pop(job_id).folder)
        self.watched_jobs[job_id] -= 1
        self.watched_jobs += Counter()  # Only folders that a tab watches are kept.

    def stop_following(self, tab: Tab, job_id: int, folder: Folder | None) -> None:
        followers = self.followers.get(folder, set()) if folder else set()
        followers.discard((tab, job_id))
        if folder and not followers and self.followers.pop(folder, None) is not None:
            self.file_watcher.forget(folder)
