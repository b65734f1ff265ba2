"""The event stream of one open browser tab: events of the bus, growth of watched job files and heartbeats, while its
session lives."""

import json
import queue
import re
import select
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask

from cluster.domain.people.actor import Actor
from cluster.event_bus import BusEvent, event_order
from cluster.services.context import Cluster
from cluster.services.jobs import queries
from portal.job_files.folders import out_path_parts
from portal.live.event_hub import EventHub, TabQueue
from portal.live.file_watcher import NO_FILES, FileSizes, FileWatcher, FolderSubscription
from portal.live.session_checks import SessionChecks
from portal.live.stream_slots import StreamSlots
from portal.shared_objects import share_object

IDLE_SECONDS = 1.0
BEAT_SECONDS = 30
BEAT_SECONDS_WITHOUT_SOCKET = 5
"""Without a socket to poll, a failed beat is how the server learns that the tab is gone."""
CHECK_SECONDS = 3.0
RIGHTS_TOPICS = frozenset({"trainings", "workspaces", "users"})
"""Rows that decide who may see a job."""
RETRY_MS = 2_000
EVENT_ID = re.compile(r"\d{1,16}-\d{1,10}")


def init_app(app: Flask, cluster: Cluster) -> None:
    share_object(app, EventHub, EventHub(cluster.settings.redis_url))
    share_object(app, FileWatcher, FileWatcher(cluster.settings.storage_dir))
    share_object(app, SessionChecks, SessionChecks(cluster))
    share_object(app, StreamSlots, StreamSlots())


@dataclass
class WatchedJob:
    """The files of a job's newest attempt, and the sizes that were sent last."""

    attempt: int = 0
    files: FolderSubscription | None = None
    """None before the first attempt."""
    sizes: FileSizes = NO_FILES


@dataclass
class TabStream:
    cluster: Cluster
    actor: Actor
    token: str
    event_hub: EventHub
    session_checks: SessionChecks
    file_watcher: FileWatcher
    topics: frozenset[str]
    job_ids: tuple[int, ...]
    last_event_id: str = ""
    """The event that the browser received last, or where its page was rendered."""
    is_disconnected: Callable[[], bool] | None = None
    """None where the server shows no socket to poll."""

    @property
    def beat_seconds(self) -> int:
        return BEAT_SECONDS if self.is_disconnected else BEAT_SECONDS_WITHOUT_SOCKET

    def events(self, slots: StreamSlots) -> Generator[str, None, None]:
        """Text of the stream. Ends when the session does, or when the tab cannot keep up (it comes back).

        Takes its slot with the first event: a stream that never begins holds none. Raises TooManyStreams.
        """
        with (
            slots.hold_slot(self.actor.user_id),
            self.session_checks.watch(self.token),
            self.event_hub.subscribe() as listener,
        ):
            yield f"retry: {RETRY_MS}\n\n"
            if EVENT_ID.fullmatch(self.last_event_id):
                yield from self.newest_per_row(self.event_hub.read_missed(self.last_event_id))
            yield from self.listen(listener, slots)

    def listen(self, listener: TabQueue, slots: StreamSlots) -> Iterator[str]:
        watched = {job_id: WatchedJob() for job_id in self.job_ids}
        beat_at = check_at = 0.0
        try:
            while not (listener.has_overflowed or slots.is_closing() or self.is_abandoned()):
                if not self.session_checks.is_live(self.token):
                    yield format_event("end", {})
                    return
                now = time.monotonic()
                if now >= check_at:
                    check_at = now + CHECK_SECONDS
                    self.refresh_watched_jobs(watched, listener)
                if now >= beat_at:
                    beat_at = now + self.beat_seconds
                    yield format_event("beat", {"seconds": self.beat_seconds})
                for job_id, watch in watched.items():
                    yield from self.file_growth_events(job_id, watch)
                events = wait_for_events(listener, IDLE_SECONDS)
                if any(self.may_change_watched_jobs(event) for event in events):
                    check_at = 0.0
                yield from self.newest_per_row(events)
        finally:
            for watch in watched.values():
                self.file_watcher.unsubscribe(watch.files)

    def is_abandoned(self) -> bool:
        return self.is_disconnected is not None and self.is_disconnected()

    def newest_per_row(self, events: Iterable[BusEvent]) -> Iterator[str]:
        """One event per row, however often it was published; the last id counts."""
        newest = {(event.topic, event.row_id): event for event in events if event.topic in self.topics}
        for event in sorted(newest.values(), key=lambda event: event_order(event.id)):
            yield format_event(event.topic, {"id": event.row_id}, event.id)

    def may_change_watched_jobs(self, event: BusEvent) -> bool:
        """Whether a watched job may have a new attempt, or the person other rights. Row 0 stands for several jobs."""
        is_own_job = event.topic == "jobs" and event.row_id in (0, *self.job_ids)
        return is_own_job or event.topic in RIGHTS_TOPICS

    def refresh_watched_jobs(self, watched: dict[int, WatchedJob], listener: TabQueue) -> None:
        """Forgets those that the person may no longer see. A new attempt has files of its own."""
        newest = queries.read_newest_attempts(self.cluster, self.actor, watched.keys())
        for job_id in watched.keys() - newest.keys():
            self.file_watcher.unsubscribe(watched.pop(job_id).files)
        for job_id, attempt in newest.items():
            if attempt.number != watched[job_id].attempt:
                self.file_watcher.unsubscribe(watched[job_id].files)
                folder = out_path_parts(attempt.workspace_id, job_id, attempt.number)
                files = self.file_watcher.subscribe(folder, listener.wake)
                watched[job_id] = WatchedJob(attempt.number, files)

    def file_growth_events(self, job_id: int, watch: WatchedJob) -> Iterator[str]:
        sizes = self.file_watcher.take(watch.files) if watch.files else None
        if sizes is None:
            return
        before, watch.sizes = watch.sizes, sizes
        about = {"job": job_id, "attempt": watch.attempt}
        if sizes.logs != before.logs:
            yield format_event("log", {**about, "sizes": sizes.logs})
        if sizes.metrics not in (None, before.metrics):
            yield format_event("metrics", {**about, "size": sizes.metrics})


class StartedStream:
    """Events of which the first has been made: dropping it, or closing it unread, frees its slot."""

    def __init__(self, events: Generator[str, None, None]) -> None:
        self.events = events
        self.first: str | None = next(events)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.first is None:
            return next(self.events)
        first, self.first = self.first, None
        return first

    def close(self) -> None:
        self.events.close()


def make_disconnect_check(environ: Mapping[str, Any]) -> Callable[[], bool] | None:
    """Whether the browser has closed its end: each page that a person leaves leaves a stream behind."""
    connection = environ.get("gunicorn.socket")
    if connection is None:
        return None
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return lambda: bool(poll.poll(0))


def wait_for_events(listener: TabQueue, pause: float) -> list[BusEvent]:
    """Waits at most `pause` seconds until something is in the queue, then takes all events that are there."""
    try:
        taken = [listener.events.get(timeout=pause)]
    except queue.Empty:
        return []
    while not listener.events.empty():
        taken.append(listener.events.get_nowait())
    return [event for event in taken if event is not None]


def format_event(name: str, data: dict[str, Any], identity: str = "") -> str:
    return f"{f'id: {identity}' + chr(10) if identity else ''}event: {name}\ndata: {json.dumps(data)}\n\n"
