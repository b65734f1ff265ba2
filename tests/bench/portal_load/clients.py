"""The process of the clients: asks for pages as its plan says and writes down what it saw.

python -m tests.bench.portal_load.clients < plan.json > answers.json
"""

import asyncio
import gzip
import json
import random
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from tests.bench.portal_load.request_plan import PageAnswers

BUFFER = 2**21


@dataclass
class Answer:
    """`length` is in bytes on the wire, `body` is what they say."""

    status: int
    length: int
    body: bytes


class Connection:
    """One kept connection; made again where the other side has closed it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> Answer:
        """Raises ConnectionError or asyncio.IncompleteReadError."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port, limit=BUFFER)
        reader, writer = self.streams
        try:
            writer.write(request)
            answer, is_kept = await read_answer(reader)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.close()
            raise
        if not is_kept:
            self.close()
        return answer

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


async def read_answer(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """The whole answer, and whether the connection stays open."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    status = int(lines[0].split(" ")[1])
    if headers.get("transfer-encoding") == "chunked":
        body = await read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    length = len(head) + len(body)
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return Answer(status, length, body), headers.get("connection", "").lower() != "close"


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while length := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(length))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(parts)


def request_bytes(port: int, path: str, headers: dict[str, str]) -> bytes:
    """As a browser asks: it takes compressed answers, and knows no earlier one."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Accept-Encoding: gzip",
        "Accept-Language: en",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


ROUNDING_SECONDS = 1e-6
"""The sum of pauses may fall short of the end by the last digit of a float; a request due at the end is not sent."""


class Client:
    """One person: asks for pages in a mixed order, each as often as the others."""

    def __init__(self, plan: dict[str, Any], number: int, seen: dict[str, PageAnswers]) -> None:
        self.connection = Connection(plan["port"])
        self.chance = random.Random(plan["seed"] * 1000 + number)
        self.pages = [
            (page["name"], [request_bytes(plan["port"], path, page["headers"]) for path in page["paths"]])
            for page in plan["clients"][number]
        ]
        self.seen = seen
        self.turn = self.chance.randrange(1000)
        self.round: list[tuple[str, list[bytes]]] = []

    async def ask_next(self, due: float | None = None) -> None:
        """The time counts from `due` where the request was due earlier than it could be sent."""
        if not self.round:
            self.round = self.chance.sample(self.pages, len(self.pages))
        name, requests = self.round.pop()
        self.turn += 1
        begun = time.perf_counter()
        answers = self.seen[name]
        try:
            answer = await self.connection.ask(requests[self.turn % len(requests)])
            status, length = str(answer.status), answer.length
        except (ConnectionError, asyncio.IncompleteReadError):
            status, length = "broken", 0
        answers.latencies.append(time.perf_counter() - (begun if due is None else min(due, begun)))
        answers.statuses[status] = answers.statuses.get(status, 0) + 1
        answers.bytes += length

    async def run(self, begin: float, end: float, pause: float | None, first: float) -> None:
        """With a pause requests are due at a fixed pace, whatever becomes of those before."""
        due = begin + first
        while (due + ROUNDING_SECONDS if pause else time.perf_counter()) < end:
            if pause:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await self.ask_next(due if pause else None)
            due += pause or 0.0
        self.connection.close()


async def run_plan(plan: dict[str, Any]) -> dict[str, Any]:
    seen: dict[str, PageAnswers] = defaultdict(PageAnswers)
    clients = [Client(plan, number, seen) for number in range(len(plan["clients"]))]
    pause = len(clients) / plan["rate"] if plan["rate"] else None
    begun = time.perf_counter()
    end = begun + plan["seconds"]
    firsts = [(pause or 0.0) * number / len(clients) for number in range(len(clients))]
    await asyncio.gather(
        *(client.run(begun, end, pause, first) for client, first in zip(clients, firsts, strict=True))
    )
    used = time.process_time()
    return {
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": used,
        "pages": {name: asdict(answers) for name, answers in seen.items()},
    }


if __name__ == "__main__":
    json.dump(asyncio.run(run_plan(json.load(sys.stdin))), sys.stdout)
