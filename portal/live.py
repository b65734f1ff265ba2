"""What one open tab hears, for as long as it listens and its person may."""

import json
import queue
import re
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cluster.domain.errors import NotFound, Unavailable
from cluster.domain.people import Actor
from cluster.files.beneath import FileMissing, FileNotPlain, open_file, size_of
from cluster.services import jobs, sessions
from cluster.services.context import Cluster
from portal.doorbell import Doorbell, Listener, Ring
from portal.job_files.attempt import out_folder
from portal.job_files.log import list_streams

FILES_SECONDS = 0.5
IDLE_SECONDS = 1.0
BEAT_SECONDS = 5.0
"""Where the server has no socket to look at, a written beat is how it learns that the tab is gone."""
CHECK_SECONDS = 3.0
RETRY_MS = 2_000
STREAMS_PER_PERSON = 12
STREAMS = 190
"""Leaves threads for ordinary requests, see gunicorn.py."""
RING_ID = re.compile(r"\d{1,16}-\d{1,10}")


class Places:
    """How many streams there are, per person and together: each holds a thread.

    `is_closing` is asked by every stream each second, so that a stop need not wait for tabs to close.
    """

    def __init__(self, is_closing: Callable[[], bool] = lambda: False) -> None:
        self.is_closing = is_closing
        self.taken: Counter[int] = Counter()
        self.lock = threading.Lock()

    @contextmanager
    def held_by(self, user_id: int) -> Iterator[None]:
        """Raises TooManyStreams where the person has enough, or all together have."""
        with self.lock:
            if self.taken[user_id] >= STREAMS_PER_PERSON:
                raise TooManyStreams("stream.too_many", most=STREAMS_PER_PERSON)
            if self.taken.total() >= STREAMS:
                raise TooManyStreams("stream.all_taken")
            self.taken[user_id] += 1
        try:
            yield
        finally:
            with self.lock:
                self.taken[user_id] -= 1
                self.taken += Counter()  # Keeps the people who have one.


class TooManyStreams(Unavailable):
    """Another stream would take a thread that ordinary requests need."""


@dataclass
class WatchedJob:
    """The files of a job's newest attempt, and the sizes last told."""

    job_id: int
    attempt: int = 0
    folder: tuple[str, ...] = ()
    log_sizes: dict[str, int] = field(default_factory=dict)
    metrics_size: int = -1


@dataclass
class Tab:
    cluster: Cluster
    actor: Actor
    token: str
    doorbell: Doorbell
    topics: frozenset[str]
    job_ids: tuple[int, ...]
    last_id: str = ""
    """The ring that the browser heard last, or where its page was rendered."""
    is_gone: Callable[[], bool] = lambda: False

    def events(self, places: Places) -> Generator[str, None, None]:
        """Text of the stream. Ends when the session does, or when the tab cannot keep up (it comes back).

        Takes its place with the first piece: one that never begins holds none. Raises TooManyStreams.
        """
        with places.held_by(self.actor.user_id), self.doorbell.listen() as listener:
            yield f"retry: {RETRY_MS}\n\n"
            if RING_ID.fullmatch(self.last_id):
                yield from self.told_once(self.doorbell.missed_since(self.last_id))
            yield from self.listen(listener, places)

    def listen(self, listener: Listener, places: Places) -> Iterator[str]:
        watched = [WatchedJob(job_id) for job_id in self.job_ids]
        beat_at = check_at = 0.0
        while not (listener.is_lost or places.is_closing() or self.is_gone()):
            now = time.monotonic()
            if now >= check_at:
                check_at = now + CHECK_SECONDS
                if sessions.find_session(self.cluster, self.token) is None:
                    yield event("end", {})
                    return
                watched = [watch for watch in watched if self.find(watch)]
            if now >= beat_at:
                beat_at = now + BEAT_SECONDS
                yield event("beat", {})
            for watch in watched:
                yield from self.grown(watch)
            rings = collect(listener, FILES_SECONDS if watched else IDLE_SECONDS)
            if any(ring.topic == "jobs" for ring in rings):
                check_at = 0.0
            yield from self.told_once(rings)

    def told_once(self, rings: list[Ring]) -> Iterator[str]:
        """One event per row, however often it rang; the last id counts."""
        newest = {(ring.topic, ring.row_id): ring for ring in rings if ring.topic in self.topics}
        for ring in sorted(newest.values(), key=lambda ring: tuple(map(int, ring.id.split("-")))):
            yield event(ring.topic, {"id": ring.row_id}, ring.id)

    def find(self, watch: WatchedJob) -> bool:
        """False where the person may no longer see the job. A new attempt has files of its own."""
        try:
            job = jobs.read_job(self.cluster, self.actor, watch.job_id)
        except NotFound:
            return False
        newest = max((attempt.number for attempt in job.attempts), default=0)
        if newest != watch.attempt:
            watch.attempt, watch.folder = newest, out_folder(job, newest)
            watch.log_sizes, watch.metrics_size = {}, -1
        return True

    def grown(self, watch: WatchedJob) -> Iterator[str]:
        if not watch.attempt:
            return
        root = self.cluster.settings.storage_dir
        about = {"job": watch.job_id, "attempt": watch.attempt}
        sizes = {stream.name: stream.size for stream in list_streams(root, *watch.folder)}
        if sizes != watch.log_sizes:
            watch.log_sizes = sizes
            yield event("log", {**about, "sizes": sizes})
        try:
            with open_file(root, *watch.folder, "metrics.jsonl") as file:
                size = size_of(file)
        except (FileMissing, FileNotPlain):
            return
        if size != watch.metrics_size:
            watch.metrics_size = size
            yield event("metrics", {**about, "size": size})


class BegunStream:
    """Events of which the first has been made: whoever drops it, or closes it unread, gives its place back."""

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


def hang_up_of(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Whether the browser has closed its end: whoever leafs through pages leaves a stream behind with each."""
    connection = environ.get("gunicorn.socket")
    if connection is None:
        return lambda: False
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return lambda: bool(poll.poll(0))


def collect(listener: Listener, pause: float) -> list[Ring]:
    """Waits at most `pause` seconds for a ring, then takes all that are there."""
    try:
        rings = [listener.waiting.get(timeout=pause)]
    except queue.Empty:
        return []
    while not listener.waiting.empty():
        rings.append(listener.waiting.get_nowait())
    return rings


def event(name: str, data: dict[str, Any], identity: str = "") -> str:
    return f"{f'id: {identity}' + chr(10) if identity else ''}event: {name}\ndata: {json.dumps(data)}\n\n"
