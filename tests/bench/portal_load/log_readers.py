"""The process of the readers: each follows one log as a browser's page does, or only holds a stream open.

python -m tests.bench.portal_load.log_readers < plan.json > seen.json

A reader has a stream, which tells how far the file has grown, and asks for the bytes behind those that it has. The
plan names the readers by cookie and job (none: the stream alone), and how long they go on. One line `ready` comes on
standard error once every stream is open or refused.
"""

import asyncio
import hashlib
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.bench.portal_load.clients import Connection, request_bytes
from tests.bench.portal_load.log_writers import parse_moment_of

MANY_FILES = 8192
OPEN_AT_ONCE = 20
SETTLE_SECONDS = 5.0


@dataclass
class Seen:
    """What one reader has received; `delays` are seconds from the writing of a line to its arrival."""

    job: int | None
    is_refused: bool = False
    reconnects: int = 0
    bytes: int = 0
    sha256: str = ""
    delays: list[float] = field(default_factory=list)


class Reader:
    def __init__(self, port: int, cookie: str, job: int | None) -> None:
        self.port, self.headers, self.job = port, {"Cookie": cookie}, job
        self.pieces = Connection(port)
        self.seen = Seen(job)
        self.digest = hashlib.sha256()
        self.rest = b""
        self.growth = asyncio.Event()
        self.is_open = asyncio.Event()

    async def run(self, gate: asyncio.Semaphore) -> None:
        follow = asyncio.create_task(self.follow()) if self.job else None
        try:
            while not self.seen.is_refused:
                await self.listen(gate)
                self.seen.reconnects += 1
        finally:
            if follow:
                follow.cancel()

    async def listen(self, gate: asyncio.Semaphore) -> None:
        """One stream, until the other side closes it."""
        topics = f"job:{self.job},log" if self.job else "jobs,queue"
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(request_bytes(self.port, f"/stream?topics={topics}", self.headers))
            head = await reader.readuntil(b"\r\n\r\n")
        self.seen.is_refused = b" 200 " not in head.split(b"\r\n")[0]
        self.is_open.set()
        while not self.seen.is_refused and (line := await reader.readline()):
            if line.startswith(b"event: log"):
                self.growth.set()
        writer.close()

    async def follow(self) -> None:
        while True:
            await self.growth.wait()
            self.growth.clear()
            while await self.fetch_piece():
                pass

    async def fetch_piece(self) -> bool:
        """Whether there was more to read."""
        path = f"/jobs/{self.job}/log?rank=0&stream=stdout&offset={self.seen.bytes}"
        answer = await self.pieces.ask(request_bytes(self.port, path, self.headers))
        if answer.status != 200 or not answer.body:
            return False
        now = time.time()
        self.digest.update(answer.body)
        self.seen.bytes += len(answer.body)
        *lines, self.rest = (self.rest + answer.body).split(b"\n")
        self.seen.delays += [now - parse_moment_of(line) for line in lines if line[:1].isdigit()]
        return len(answer.body) >= 256 * 1024 - 4096

    def finish(self) -> dict[str, Any]:
        self.seen.sha256 = self.digest.hexdigest()
        return asdict(self.seen)


async def run_readers(plan: dict[str, Any]) -> list[dict[str, Any]]:
    gate = asyncio.Semaphore(OPEN_AT_ONCE)
    readers = [Reader(plan["port"], cookie, job) for cookie, job in plan["readers"]]
    tasks = [asyncio.create_task(reader.run(gate)) for reader in readers]
    await asyncio.gather(*(reader.is_open.wait() for reader in readers))
    print("ready", file=sys.stderr, flush=True)
    await asyncio.sleep(plan["seconds"])
    for reader in readers:
        reader.growth.set()  # What was written last may have come behind the last event.
    await asyncio.sleep(SETTLE_SECONDS if plan["seconds"] else 0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [reader.finish() for reader in readers]


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(MANY_FILES, hard), hard))
    json.dump(asyncio.run(run_readers(json.load(sys.stdin))), sys.stdout)
