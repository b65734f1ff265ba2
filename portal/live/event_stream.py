"""The event stream of one open browser tab: events of the bus, growth of watched job files and heartbeats, while its
session lives."""

import json
import queue
import re
import select
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from cluster.domain.errors import NotFound
from cluster.domain.people.actor import Actor
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath, open_file_size
from cluster.services.context import Cluster
from cluster.services.jobs import queries
from cluster.services.people import sessions
from portal.job_files.folders import out_path_parts
from portal.job_files.log_chunks import list_attempt_logs
from portal.live.event_hub import BusEvent, EventHub, TabQueue
from portal.live.stream_slots import StreamSlots
from portal.shared_objects import share_object

FILES_SECONDS = 0.5
IDLE_SECONDS = 1.0
BEAT_SECONDS = 5.0
"""Without a socket to poll, a failed beat is how the server learns that the tab is gone."""
CHECK_SECONDS = 3.0
RETRY_MS = 2_000
EVENT_ID = re.compile(r"\d{1,16}-\d{1,10}")


def init_app(app: Flask, redis_url: str) -> None:
    share_object(app, EventHub, EventHub(redis_url))
    share_object(app, StreamSlots, StreamSlots())


@dataclass
class WatchedJob:
    """The files of a job's newest attempt, and the sizes that were sent last."""

    job_id: int
    attempt: int = 0
    folder: tuple[str, ...] = ()
    log_sizes: dict[str, int] = field(default_factory=dict)
    metrics_size: int = -1


@dataclass
class TabStream:
    cluster: Cluster
    actor: Actor
    token: str
    event_hub: EventHub
    topics: frozenset[str]
    job_ids: tuple[int, ...]
    last_event_id: str = ""
    """The event that the browser received last, or where its page was rendered."""
    is_disconnected: Callable[[], bool] = lambda: False

    def events(self, slots: StreamSlots) -> Generator[str, None, None]:
        """Text of the stream. Ends when the session does, or when the tab cannot keep up (it comes back).

        Takes its slot with the first event: a stream that never begins holds none. Raises TooManyStreams.
        """
        with slots.hold_slot(self.actor.user_id), self.event_hub.subscribe() as listener:
            yield f"retry: {RETRY_MS}\n\n"
            if EVENT_ID.fullmatch(self.last_event_id):
                yield from self.newest_per_row(self.event_hub.read_missed(self.last_event_id))
            yield from self.listen(listener, slots)

    def listen(self, listener: TabQueue, slots: StreamSlots) -> Iterator[str]:
        watched = [WatchedJob(job_id) for job_id in self.job_ids]
        beat_at = check_at = 0.0
        while not (listener.has_overflowed or slots.is_closing() or self.is_disconnected()):
            now = time.monotonic()
            if now >= check_at:
                check_at = now + CHECK_SECONDS
                if sessions.find_session(self.cluster, self.token) is None:
                    yield format_event("end", {})
                    return
                watched = [watch for watch in watched if self.refresh_watched_job(watch)]
            if now >= beat_at:
                beat_at = now + BEAT_SECONDS
                yield format_event("beat", {})
            for watch in watched:
                yield from self.file_growth_events(watch)
            events = wait_for_events(listener, FILES_SECONDS if watched else IDLE_SECONDS)
            if any(event.topic == "jobs" for event in events):
                check_at = 0.0
            yield from self.newest_per_row(events)

    def newest_per_row(self, events: list[BusEvent]) -> Iterator[str]:
        """One event per row, however often it was published; the last id counts."""
        newest = {(event.topic, event.row_id): event for event in events if event.topic in self.topics}
        for event in sorted(newest.values(), key=lambda event: tuple(map(int, event.id.split("-")))):
            yield format_event(event.topic, {"id": event.row_id}, event.id)

    def refresh_watched_job(self, watch: WatchedJob) -> bool:
        """False where the person may no longer see the job. A new attempt has files of its own."""
        try:
            job = queries.read_job(self.cluster, self.actor, watch.job_id)
        except NotFound:
            return False
        newest = max((attempt.number for attempt in job.attempts), default=0)
        if newest != watch.attempt:
            watch.attempt, watch.folder = newest, out_path_parts(job, newest)
            watch.log_sizes, watch.metrics_size = {}, -1
        return True

    def file_growth_events(self, watch: WatchedJob) -> Iterator[str]:
        if not watch.attempt:
            return
        root = self.cluster.settings.storage_dir
        about = {"job": watch.job_id, "attempt": watch.attempt}
        sizes = {stream.name: stream.size for stream in list_attempt_logs(root, *watch.folder)}
        if sizes != watch.log_sizes:
            watch.log_sizes = sizes
            yield format_event("log", {**about, "sizes": sizes})
        try:
            with open_file_beneath(root, *watch.folder, "metrics.jsonl") as file:
                size = open_file_size(file)
        except (FileMissing, FileNotPlain):
            return
        if size != watch.metrics_size:
            watch.metrics_size = size
            yield format_event("metrics", {**about, "size": size})


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


def make_disconnect_check(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Whether the browser has closed its end: each page that a person leaves leaves a stream behind."""
    connection = environ.get("gunicorn.socket")
    if connection is None:
        return lambda: False
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return lambda: bool(poll.poll(0))


def wait_for_events(listener: TabQueue, pause: float) -> list[BusEvent]:
    """Waits at most `pause` seconds for an event, then takes all that are there."""
    try:
        events = [listener.events.get(timeout=pause)]
    except queue.Empty:
        return []
    while not listener.events.empty():
        events.append(listener.events.get_nowait())
    return events


def format_event(name: str, data: dict[str, Any], identity: str = "") -> str:
    return f"{f'id: {identity}' + chr(10) if identity else ''}event: {name}\ndata: {json.dumps(data)}\n\n"
