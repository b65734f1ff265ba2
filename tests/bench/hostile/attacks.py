"""The attacks, each as a coroutine that goes on until it is cancelled."""

import asyncio
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.hostile.installation import Target
from tests.bench.hostile.raw_http import Address, Answer, NoAnswer

MIB = 1024 * 1024
HEADS = BODIES = 300
STREAMS, STREAMS_BY_HEAD = 500, 100
READERS = 4
"""Requests at a time of one attack that sends whole requests."""
PATIENCE = 15.0
BYTE_SECONDS = 1.0
AGAIN_SECONDS = 1.0
"""A connection that was closed is opened again after so long: what is refused costs the attacker as well."""
PAUSE = 0.5
"""Between two requests of each: what is tried is what one request costs, not how many a second anybody can send."""
STREAM_AGAIN_SECONDS = 10.0
STREAMS_OPEN_SECONDS = 3.5
"""In which all of them are asked for; measured is how they are held, and how the refused ones come again."""
UPLOAD_PAUSE = 1.0
TOKEN = re.compile(rb'name="csrf_token"[^>]*value="([^"]+)"')
BOUNDARY = "----------------------------bench"


@dataclass
class Context:
    """`tally` counts what happened: connections, answers by status, errors."""

    target: Target
    tally: Counter[str]

    @property
    def address(self) -> Address:
        return Address(self.target.host, self.target.port)

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | Iterator[bytes] = b""
    ) -> Answer | None:
        """Counted by its status; None where nothing came in time."""
        pieces = [body] if isinstance(body, bytes) else body
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self.address.ask(method, path, headers, pieces)
        except TimeoutError:
            self.tally["no answer in time"] += 1
        except NoAnswer:
            self.tally["connection closed"] += 1
        else:
            self.tally[f"status {answer.status}"] += 1
            return answer
        return None


Run = Callable[[Context], Awaitable[None]]


async def at_once(count: int, run: Callable[[int], Awaitable[None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(run(number))  # type: ignore[arg-type]


async def half_heads(context: Context) -> None:
    head = context.address.head("GET", "/sign-in", {"X-Padding": "a"}, is_open=True)[:-2]
    await at_once(HEADS, lambda _: trickle(context, head))


async def half_bodies(context: Context) -> None:
    """Nobody has signed in; the form is never whole."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": "5000"}
    head = context.address.head("POST", "/sign-in", form) + b"name="
    await at_once(BODIES, lambda _: trickle(context, head))


async def trickle(context: Context, beginning: bytes) -> None:
    """One byte per second, again and again on a new connection where the old one is closed."""
    while True:
        try:
            reader, writer = await context.address.connect()
        except OSError:
            context.tally["refused"] += 1
            await asyncio.sleep(AGAIN_SECONDS)
            continue
        context.tally["opened"] += 1
        try:
            writer.write(beginning)
            while not await is_over(reader, BYTE_SECONDS * random.uniform(0.8, 1.2)):
                writer.write(b"a")
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()
        context.tally["closed by the server"] += 1
        await asyncio.sleep(AGAIN_SECONDS)


async def is_over(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Whether the server said anything, or closed its end, within so long."""
    try:
        async with asyncio.timeout(seconds):
            await reader.read(1024)
    except TimeoutError:
        return False
    return True


async def streams(context: Context) -> None:
    """One person, many browsers; a fifth of the requests is HEAD."""
    await at_once(STREAMS, lambda number: hold_stream(context, number))


async def hold_stream(context: Context, number: int) -> None:
    await asyncio.sleep(STREAMS_OPEN_SECONDS * number / STREAMS)
    cookies = context.target.attacker.cookies
    headers = {"Cookie": cookies[number % len(cookies)], "Accept": "text/event-stream"}
    if number < STREAMS_BY_HEAD:
        while True:
            await context.ask("HEAD", "/stream?topics=jobs,queue", headers)
            await asyncio.sleep(STREAM_AGAIN_SECONDS * random.uniform(0.5, 1.5))
    request = context.address.head("GET", "/stream?topics=jobs,queue", headers)
    while True:
        try:
            reader, writer = await context.address.connect()
        except OSError:
            context.tally["refused"] += 1
            await asyncio.sleep(AGAIN_SECONDS)
            continue
        try:
            writer.write(request)
            first = (await reader.readline()).split()
            context.tally[f"status {int(first[1])}" if len(first) > 1 else "connection closed"] += 1
            while await reader.read(4096):
                pass
        except (OSError, ValueError):
            context.tally["connection closed"] += 1
        finally:
            writer.transport.abort()
        await asyncio.sleep(STREAM_AGAIN_SECONDS * random.uniform(0.5, 1.5))


async def archives(context: Context) -> None:
    """One upload after another, by the form, as a member; each is unpacked by a task worker. Twice each, at most."""
    files = sorted(path for path in Path(context.target.folder).iterdir() if path.suffix in (".zip", ".gz"))
    for file in (*files, *files):
        await upload(context, file, f"bomb-{random.randrange(10**12):012}")
        await asyncio.sleep(UPLOAD_PAUSE)
    await asyncio.Event().wait()


async def upload(context: Context, file: Path, name: str) -> None:
    attacker = context.target.attacker
    path = f"/workspaces/{attacker.workspace_id}/datasets/new"
    form = await context.ask("GET", path, attacker.as_browser)
    found = TOKEN.search(form.body) if form is not None else None
    if form is None or found is None:
        return
    cookie = form.headers.get("set-cookie", "").partition(";")[0]
    fields = {"csrf_token": found[1].decode(), "way": "upload", "name": name}
    start = b"".join(
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in fields.items()
    )
    start += (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="archive"; filename="{file.name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    end = f"\r\n--{BOUNDARY}--\r\n".encode()
    headers = {
        "Cookie": f"{attacker.cookies[0]}; {cookie}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Content-Length": str(len(start) + file.stat().st_size + len(end)),
    }
    await context.ask("POST", path, headers, pieces_of(start, file, end))


def pieces_of(start: bytes, file: Path, end: bytes) -> Iterator[bytes]:
    yield start
    with file.open("rb") as source:
        while piece := source.read(256 * 1024):
            yield piece
    yield end


def reading(*paths: Callable[[Target], str]) -> Run:
    """A member reads these again and again, `READERS` at a time."""

    async def run(context: Context) -> None:
        attacker = context.target.attacker

        async def reader(number: int) -> None:
            for turn in itertools.count(number):
                await context.ask("GET", paths[turn % len(paths)](context.target), attacker.as_browser)
                await asyncio.sleep(PAUSE)

        await at_once(READERS, reader)

    return run


def log_path(query: str) -> Callable[[Target], str]:
    return lambda target: f"/jobs/{target.log_job}?tab=log{query}"


def metrics_path(query: str) -> Callable[[Target], str]:
    """Of each job in turn: what one process keeps of files is never enough for all of them."""
    turns = itertools.count()
    return lambda target: f"/jobs/{target.metrics_jobs[next(turns) % len(target.metrics_jobs)]}{query}"


def posting(path: str, kind: str, bodies: Callable[[Target], list[bytes]], *, is_member: bool) -> Run:
    """These bodies in turn, `READERS` at a time."""

    async def run(context: Context) -> None:
        made = bodies(context.target)
        rights = context.target.attacker.as_program if is_member else {}

        async def sender(number: int) -> None:
            for turn in itertools.count(number):
                body = made[turn % len(made)]
                headers = {"Content-Type": kind, "Content-Length": str(len(body))} | rights
                await context.ask("POST", path, headers, iter([body]))
                await asyncio.sleep(PAUSE)

        await at_once(READERS, sender)

    return run


DEPTH = 100_000


def deep_bodies(target: Target) -> list[bytes]:
    """Nested, and flat but wide: all within the 2 MiB that a request may bring along."""
    training = target.attacker.training_id
    wide = {"training_id": training, "variables": {f"v{number}": number for number in range(90_000)}}
    long = {"training_id": training, "command": ["x"] * 250_000}
    return [
        b"[" * DEPTH + b"]" * DEPTH,
        b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
        b'{"training_id": ' + b"9" * MIB + b"}",
        json.dumps(wide).encode(),
        json.dumps(long).encode(),
    ]


def large_forms(_: Target) -> list[bytes]:
    """Half a million fields; one field of a mebibyte; more than a form may have."""
    return [
        b"a=&" * (MIB // 3),
        b"name=a&" * (MIB // 7),
        b"%41" * (MIB // 3),
        b"password=" + b"a" * (MIB - 9),
        b"name=" + b"a" * (3 * MIB),
    ]


@dataclass(frozen=True)
class Attack:
    title: str
    run: Run


FORM = "application/x-www-form-urlencoded"
ATTACKS = {
    "heads": Attack(f"{HEADS} half-open heads", half_heads),
    "bodies": Attack(f"{BODIES} half-open bodies", half_bodies),
    "streams": Attack(f"{STREAMS} streams of one person", streams),
    "archives": Attack("archive bombs", archives),
    "log": Attack(
        "256 KiB lines in a log", reading(log_path(""), log_path("&find=AB"), log_path("&find=A.*b"))
    ),
    "metrics": Attack(
        "32 MiB metrics",
        reading(
            metrics_path("/metrics"),
            metrics_path("/metrics?format=csv"),
            metrics_path(""),
            metrics_path("/metrics?format=table"),
        ),
    ),
    "json": Attack(
        "deep JSON", posting("/api/v1/jobs?dry_run=true", "application/json", deep_bodies, is_member=True)
    ),
    "forms": Attack("large forms", posting("/sign-in", FORM, large_forms, is_member=False)),
}
