"""Well-behaved people: requests at a fixed pace whatever becomes of those before, as people click."""

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.bench.hostile.installation import Person, Site
from tests.bench.hostile.raw_http import Address, NoAnswer

PATIENCE = 10.0
"""Seconds after which a person gives up; counts as that long."""
PAGE_SECONDS, HEALTH_SECONDS, STREAM_SECONDS = 0.12, 0.1, 1.0
PAGES = (
    "/",
    "/jobs",
    "/queue",
    "/jobs/{job_id}",
    "/jobs/{job_id}?tab=log",
    "/jobs/{job_id}/metrics",
    "/workspaces/{workspace_id}",
    "/nodes",
    "/static/app.css",
)
REST = ("/api/v1/jobs", "/api/v1/queue", "/api/v1/nodes", "/api/v1/jobs/{job_id}")


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    is_stream: bool = False


@dataclass
class Seen:
    """What the people and the watch over /health saw; seconds."""

    latencies: list[float] = field(default_factory=list)
    """Of answers below 500, and of people who gave up."""
    health: list[float] = field(default_factory=list)
    asked: int = 0
    given_up: int = 0
    no_answer: int = 0
    server_errors: int = 0
    """5xx, but for the honest 503."""
    honest: int = 0
    wrong: list[str] = field(default_factory=list)
    took: list[tuple[float, str]] = field(default_factory=list)
    """By request, to tell which were the slowest."""


def requests_of(person: Person) -> Iterator[Request]:
    """Pages and REST by turns, for ever; each tenth asks what a new job would do."""
    places = {"job_id": person.job_id, "workspace_id": person.workspace_id}
    pages, rest = itertools.cycle(PAGES), itertools.cycle(REST)
    question = json.dumps({"training_id": person.training_id, "command": ["true"]}).encode()
    posted = {"Content-Type": "application/json", "Content-Length": str(len(question))}
    for number in itertools.count(1):
        if number % 10 == 0:
            yield Request("POST", "/api/v1/jobs?dry_run=true", person.as_program | posted, question)
        elif number % 3 == 0:
            yield Request("GET", next(rest).format(**places), person.as_program)
        else:
            yield Request("GET", next(pages).format(**places), person.as_browser)


async def watch(site: Site, seconds: float) -> Seen:
    """Everybody at their pace for so long, then until each has an answer or has given up."""
    seen = Seen()
    address = Address(site.target.host, site.target.port)
    people = [requests_of(person) for person in site.people]
    clicks = (next(person) for person in itertools.cycle(people))
    streams = (
        Request("GET", "/stream?topics=jobs", person.as_browser, is_stream=True)
        for person in itertools.cycle(site.people)
    )
    async with asyncio.TaskGroup() as group:
        for requests, pace in ((clicks, PAGE_SECONDS), (streams, STREAM_SECONDS)):
            group.create_task(at_pace(group, address, requests, pace, seconds, seen))
        group.create_task(look_at_health(group, address, seconds, seen))
    return seen


async def at_pace(
    group: asyncio.TaskGroup,
    address: Address,
    requests: Iterator[Request],
    pace: float,
    seconds: float,
    seen: Seen,
) -> None:
    async for due in ticks(pace, seconds):
        group.create_task(one(address, next(requests), due, seen))


async def look_at_health(group: asyncio.TaskGroup, address: Address, seconds: float, seen: Seen) -> None:
    health = Request("GET", "/health", {})
    async for due in ticks(HEALTH_SECONDS, seconds):
        group.create_task(one(address, health, due, seen))


async def ticks(pace: float, seconds: float):  # type: ignore[no-untyped-def]
    """The moments at which a request is due. A tick that comes late counts from when it should have come."""
    begun = time.perf_counter()
    for number in range(round(seconds / pace)):
        due = begun + number * pace
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        yield due


async def one(address: Address, request: Request, due: float, seen: Seen) -> None:
    is_health = request.path == "/health"
    seen.asked += not is_health
    took = PATIENCE
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await address.ask(
                request.method, request.path, request.headers, [request.body], is_stream=request.is_stream
            )
        took = time.perf_counter() - due
    except TimeoutError:
        seen.given_up += not is_health
        seen.took.append((took, request.path))
        (seen.health if is_health else seen.latencies).append(took)
        return
    except NoAnswer:
        seen.no_answer += not is_health
        if is_health:
            seen.health.append(PATIENCE)
        return
    seen.took.append((took, request.path))
    if is_health:
        seen.health.append(took if answer.status == 200 else PATIENCE)
    elif answer.is_honest_refusal:
        seen.honest += 1
    elif answer.status >= 500:
        seen.server_errors += 1
        seen.wrong.append(f"{answer.status} {request.method} {request.path}")
    elif answer.status >= 400 or answer.status == 302:
        raise RuntimeError(f"{answer.status} {request.method} {request.path}: {answer.body[:300]!r}")
    else:
        seen.latencies.append(took)
