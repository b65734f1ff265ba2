"""The event stream of one open browser tab: the events that are still to be sent, and how they are sent.

Events: `<topic>` {"id"} · `log` {"job", "attempt", "sizes": {file: bytes}} · `metrics` {"job", "attempt", "size"} ·
`beat` {"seconds"} (until the next) · `end` {} (the session is over). The stream never has content: the page asks for
its fragment after an event, and permissions are checked there.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from cluster.event_bus import BusEvent
from cluster.services.jobs.queries import JobAttempt
from cluster.services.people.sessions import SignedInPerson
from portal.job_files.folders import out_path_parts
from portal.live.file_watcher import NO_FILES, FileSizes, Folder
from portal.live.requests import Send

BEAT_SECONDS = 30
PAUSE_SECONDS = 0.1
"""The pause between two sendings to one tab. Events that arrive meanwhile are sent together."""
MAX_PENDING_ROWS = 1_000
"""The most waiting events of a tab, more than one read of the event bus returns: only a tab that takes nothing has as
many.
"""
RETRY_MS = 2_000


class StreamEnd(Enum):
    """The reason why a stream ends. The browser reconnects by itself unless the session is over."""

    SESSION = "session"
    TAB = "tab"
    """The browser has closed its end."""
    SLOW = "slow"
    """The reader took nothing for so long that it has to name the last event it got."""
    SERVICE = "service"
    """This process stops, or cannot find out whether the session is valid."""


@dataclass
class WatchedJob:
    """The folder of a job's newest attempt (none before the first), and the sizes that were sent last."""

    attempt: int = 0
    folder: Folder | None = None
    sizes: FileSizes = NO_FILES
    sent: FileSizes = NO_FILES


@dataclass(eq=False)
class Tab:
    """An open tab. A slow tab delays no other: only the newest state of each row and each file waits for it."""

    person: SignedInPerson
    token: str
    topics: frozenset[str]
    jobs: dict[int, WatchedJob]
    rows: dict[tuple[str, int], BusEvent] = field(default_factory=dict)
    grown: set[int] = field(default_factory=set)
    end: StreamEnd | None = None
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def add_events(self, events: Iterable[BusEvent]) -> None:
        if self.end is not None:
            return
        for event in events:
            if event.topic in self.topics:
                self.rows.pop((event.topic, event.row_id), None)  # The newest event is sent last.
                self.rows[event.topic, event.row_id] = event
        if len(self.rows) > MAX_PENDING_ROWS:
            self.finish(StreamEnd.SLOW)
        elif self.rows:
            self.awake.set()

    def note_sizes(self, job_id: int, sizes: FileSizes) -> None:
        self.jobs[job_id].sizes = sizes
        self.grown.add(job_id)
        self.awake.set()

    def finish(self, why: StreamEnd) -> None:
        """Ends the stream. The first reason counts."""
        self.end = self.end or why
        self.awake.set()

    def follow_attempt(self, attempt: JobAttempt) -> None:
        """A new attempt has files of its own."""
        if attempt.number != self.jobs[attempt.job_id].attempt:
            folder = out_path_parts(attempt.workspace_id, attempt.job_id, attempt.number)
            self.jobs[attempt.job_id] = WatchedJob(attempt.number, folder)

    def take_text(self) -> str:
        """Returns the text that is to be sent now and forgets it."""
        rows, self.rows = self.rows, {}
        grown, self.grown = self.grown, set()
        parts = [format_event(event.topic, {"id": event.row_id}, event.id) for event in rows.values()]
        for job_id in sorted(grown & self.jobs.keys()):
            parts += file_growth_events(job_id, self.jobs[job_id])
        return "".join(parts)

    async def send_events(self, send: Send) -> None:
        """Sends events until `end` is set."""
        loop = asyncio.get_running_loop()
        await send_text(send, f"retry: {RETRY_MS}\n\n")
        beat_at = loop.time()
        while self.end is None:
            self.awake.clear()
            text = self.take_text()
            if loop.time() >= beat_at:
                beat_at = loop.time() + BEAT_SECONDS
                text += format_event("beat", {"seconds": BEAT_SECONDS})
            if text:
                await send_text(send, text)
                await asyncio.sleep(PAUSE_SECONDS)
            timer = loop.call_at(beat_at, self.awake.set)
            try:
                await self.awake.wait()
            finally:
                timer.cancel()
        if self.end is not StreamEnd.TAB:
            last = format_event("end", {}) if self.end is StreamEnd.SESSION else ""
            await send({"type": "http.response.body", "body": last.encode()})


def file_growth_events(job_id: int, watched: WatchedJob) -> list[str]:
    before, watched.sent = watched.sent, watched.sizes
    about = {"job": job_id, "attempt": watched.attempt}
    events = []
    if watched.sizes.logs != before.logs:
        events.append(format_event("log", {**about, "sizes": watched.sizes.logs}))
    if watched.sizes.metrics not in (None, before.metrics):
        events.append(format_event("metrics", {**about, "size": watched.sizes.metrics}))
    return events


async def send_text(send: Send, text: str) -> None:
    """Waits while the other side takes nothing."""
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


def format_event(name: str, data: dict[str, Any], identity: str = "") -> str:
    return f"{f'id: {identity}' + chr(10) if identity else ''}event: {name}\ndata: {json.dumps(data)}\n\n"
