"""The service behind `/stream` and the chunks of a job's log: an ASGI application for one event loop.

`/stream` is the Server-Sent Events of one open tab (portal/live/event_stream.py): `topics` is a list, separated by
commas, of names and of `job:<id>` for the files of a job; `since` is the event id at which the page was rendered; a
browser that reconnects names the last event that it received. `/jobs/<id>/log` answers a chunk
(portal/live/log_answers.py). A refusal is a line of text. Browsers do not show it, and ask again.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from sqlalchemy.exc import InterfaceError, OperationalError

from cluster import words
from cluster.domain.errors import GroundcrewError, NotFound, Refused
from cluster.event_bus import connect_redis
from cluster.portal_paths import HEALTH, STREAM, session_cookie_name
from cluster.services.context import Cluster
from cluster.services.people.sessions import SignedInPerson
from cluster.store.base import LARGEST_ID
from portal.job_files.logs.line_counter import LineCounter
from portal.job_files.logs.log_times import LogTimesCache
from portal.live.client_limits import ClientLimits, TooManyRequests
from portal.live.event_hub import EventHub, read_missed_events
from portal.live.event_stream import StreamEnd, Tab, WatchedJob
from portal.live.file_watcher import FileSizes, FileWatcher, Folder
from portal.live.log_answers import answer_chunk, parse_chunk_request
from portal.live.open_tabs import OpenTabs
from portal.live.requests import Answer, Receive, Request, Scope, Send, send_answer, send_head
from portal.live.rights import RightsReader
from portal.live.stream_slots import StreamSlots, TooManyStreams
from portal.response_headers import choose_request_id, secure_headers

log = structlog.get_logger()

FILE_EVENTS = frozenset({"log", "metrics"})
"""The events of a watched job. A page may name them among its topics, which changes nothing."""
TOPICS = FILE_EVENTS | frozenset(
    {"jobs", "queue", "nodes", "operations", "datasets", "workspaces", "users", "trainings", "environments"}
)
MAX_TOPICS = 20
MIMETYPE = "text/event-stream; charset=utf-8"
STREAM_HEADERS = {
    "Content-Type": MIMETYPE,
    # nginx would otherwise keep events until its buffer is full.
    "X-Accel-Buffering": "no",
}
RETRY_AFTER_SECONDS = 30
FILE_THREADS = 4
"""Threads that read chunks of logs, so that storage that hangs delays no stream."""
EVENT_ID = re.compile(r"\d{1,16}-\d{1,10}")
LOG_ROUTE = "/jobs/<int:job_id>/log"
"""The name of the route in the log line of a request."""
LOG_PATH = re.compile(r"/jobs/([0-9]{1,10})/log")


class NoSession(GroundcrewError):
    """There is no valid session with this token. The page's next request leads to the sign-in page."""

    def __init__(self) -> None:
        super().__init__("session.needed")


class LogLine:
    """The log line of one request. It never has a path or a query, which may contain a secret."""

    def __init__(self, request: Request, address: str) -> None:
        self.began = time.monotonic()
        self.request_id = choose_request_id(request.headers.get("x-request-id", ""))
        self.language = "en"
        self.has_begun = False
        self.is_chunk = False
        self.facts: dict[str, Any] = {"method": request.method, "route": None, "address": address}

    def write(self) -> None:
        seconds = round(time.monotonic() - self.began, 3)
        log.info("request", request_id=self.request_id, **self.facts, seconds=seconds)


class LiveService:
    """The server calls it for each request, and `start` once before."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.cookie = session_cookie_name(cluster.settings.port)
        self.rights = RightsReader(cluster)
        self.file_watcher = FileWatcher(cluster.settings.storage_dir, self.tell_sizes)
        self.tabs = OpenTabs(self.rights, self.file_watcher)
        self.event_hub = EventHub(cluster.settings.redis_url, self.tabs.deliver_events)
        self.slots = StreamSlots()
        self.limits = ClientLimits()
        self.line_counter = LineCounter()
        self.log_times = LogTimesCache()
        self.missed_events = connect_redis(cluster.settings.redis_url)
        self.file_threads = ThreadPoolExecutor(FILE_THREADS, "files")
        self.loop: asyncio.AbstractEventLoop | None = None
        self.checks: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the service. It is called in the event loop."""
        self.loop = asyncio.get_running_loop()
        self.checks = self.loop.create_task(self.tabs.check_forever())
        self.event_hub.start()
        self.file_watcher.start()

    def tell_sizes(self, changed: Mapping[Folder, FileSizes]) -> None:
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.tabs.deliver_sizes, changed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        line = LogLine(request, self.client_address(request))
        headers = secure_headers(self.is_https(request)) | {"X-Request-Id": line.request_id}
        try:
            await self.answer(request, receive, send, headers, line)
        finally:
            if not (
                line.is_chunk and line.facts.get("status") == 200
            ):  # There may be hundreds of them in a second.
                line.write()

    async def answer(
        self, request: Request, receive: Receive, send: Send, headers: dict[str, str], line: LogLine
    ) -> None:
        try:
            if request.method not in ("GET", "HEAD"):
                answer = Answer(405, headers={"Allow": "GET, HEAD"})
            elif request.path == STREAM:
                line.facts["route"] = STREAM
                await self.answer_stream(request, receive, send, headers, line)
                return
            elif request.path == HEALTH:
                line.facts["route"] = HEALTH
                await self.rights.read(
                    "", ()
                )  # The database is read without a person, which shows whether it answers.
                answer = Answer(body=b'{"status": "ok"}\n', mimetype="application/json")
            elif log_of := LOG_PATH.fullmatch(request.path):
                line.facts |= {"route": LOG_ROUTE, "job_id": int(log_of[1])}
                line.is_chunk = True
                answer = await self.answer_log(request, int(log_of[1]), line)
            else:
                answer = Answer(404)
        except (GroundcrewError, OperationalError, InterfaceError) as error:
            answer = self.refuse(error, line)
        except Exception:
            log.exception("bug", request_id=line.request_id, route=line.facts["route"])
            answer = Answer(500)
        if line.has_begun:
            return
        line.facts["status"] = answer.status
        await send_answer(send, answer, headers)

    async def answer_stream(
        self, request: Request, receive: Receive, send: Send, headers: dict[str, str], line: LogLine
    ) -> None:
        """Raises NotFound for a job that the person may not see, Refused, NoSession and TooManyStreams."""
        token = request.cookie(self.cookie)
        if request.method == "GET" and self.limits.is_refused_for_now(token):
            raise TooManyRequests
        topics, job_ids = parse_topics(request.query.get("topics", ""))
        rights = await self.rights.read(token, job_ids)
        person = note_person(rights.person, line)
        for job_id in job_ids:
            if job_id not in rights.attempts:
                raise NotFound("job", job_id)
        line.facts["status"] = 200
        if request.method == "HEAD":
            await send_head(send, 200, headers | STREAM_HEADERS)
            await send({"type": "http.response.body"})
            return
        tab = Tab(person, token, topics, {job_id: WatchedJob() for job_id in job_ids})
        try:
            with self.slots.hold_slot(person.user_id), self.tabs.keep(tab, rights):
                line.has_begun = True
                await send_head(send, 200, headers | STREAM_HEADERS)
                await self.run_stream(tab, request, receive, send)
        except TooManyStreams as refusal:
            if refusal.code == "stream.too_many":
                self.limits.note_refusal(token)
            raise

    async def run_stream(self, tab: Tab, request: Request, receive: Receive, send: Send) -> None:
        last_id = request.headers.get("last-event-id") or request.query.get("since", "")
        if EVENT_ID.fullmatch(last_id):
            missed = await asyncio.to_thread(read_missed_events, self.missed_events, last_id)
            tab.add_events(missed)
        leaving = asyncio.create_task(wait_until_gone(receive, tab))
        try:
            await tab.send_events(send)
        finally:
            leaving.cancel()

    async def answer_log(self, request: Request, job_id: int, line: LogLine) -> Answer:
        """Raises NotFound, Refused, NoSession and TooManyRequests."""
        token = request.cookie(self.cookie)
        async with self.limits.take_turn(token):
            rights = await self.rights.read(token, [min(job_id, LARGEST_ID)])
            note_person(rights.person, line)
            newest = rights.attempts.get(job_id)
            if newest is None:
                raise NotFound("job", job_id)
            wanted, root = parse_chunk_request(request), self.cluster.settings.storage_dir
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(
                self.file_threads, answer_chunk, root, newest, wanted, self.line_counter, self.log_times
            )
        line.facts["status"] = answer.status
        return answer

    def refuse(self, error: Exception, line: LogLine) -> Answer:
        """Answers with the error's sentence as a line of text in the person's language."""
        retry = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        if not isinstance(error, GroundcrewError):
            log.error("the database does not answer", error=str(error), route=line.facts["route"])
            return Answer(503, headers=retry)
        if isinstance(error, NoSession):
            return Answer(401)
        status = 404 if isinstance(error, NotFound) else 422 if isinstance(error, Refused) else 503
        if error.code in ("stream.too_many", "http.429"):
            status = 429
        text = words.sentence(
            error.code, error.data, line.language, self.cluster.settings.zone, self.cluster.clock()
        )
        return Answer(status, f"{text}\n".encode(), headers=retry if status in (429, 503) else {})

    def client_address(self, request: Request) -> str:
        """The address that our own proxy reports. No other program reaches the socket."""
        return request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()

    def is_https(self, request: Request) -> bool:
        return request.headers.get("x-forwarded-proto", "").rpartition(",")[2].strip() == "https"


def note_person(person: SignedInPerson | None, line: LogLine) -> SignedInPerson:
    """Raises NoSession."""
    if person is None:
        raise NoSession
    line.facts["user"], line.language = person.name, person.language or line.language
    return person


async def wait_until_gone(receive: Receive, tab: Tab) -> None:
    """Ends the tab when its browser closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
    tab.finish(StreamEnd.TAB)


def parse_topics(text: str) -> tuple[frozenset[str], tuple[int, ...]]:
    """Parses `topics` into names and jobs. Raises Refused."""
    topic_words = [topic for topic in text.split(",") if topic]
    topics = frozenset(topic for topic in topic_words if not is_job_topic(topic))
    if not topics <= TOPICS or len(topic_words) > MAX_TOPICS:
        raise Refused("topics", "stream.unknown_topic", topics=sorted(topics - TOPICS)[:5])
    return topics, tuple(min(int(topic[4:]), LARGEST_ID) for topic in topic_words if is_job_topic(topic))


def is_job_topic(topic: str) -> bool:
    number = topic.removeprefix("job:")
    return topic.startswith("job:") and number.isascii() and number.isdigit() and len(number) < 12
