"""The clients that put load on the portal read answers to their end, whatever frames them, and count what they get."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable

import pytest

from tests.bench.portal_load.clients import Answer, read_answer, run_plan

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=1\r\nyou\r\n0\r\n\r\n"
CLOSING = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"


def plan_for(port: int, rate: float | None = None, seconds: float = 0.2) -> dict[str, object]:
    page = {"name": "page", "paths": ["/a", "/b"], "headers": {"Cookie": "c=1"}}
    return {"port": port, "seconds": seconds, "clients": [[page], [page]], "rate": rate, "seed": 1}


async def served(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], **plan: object
) -> dict[str, object]:
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        found = await run_plan(plan_for(server.sockets[0].getsockname()[1], **plan))  # type: ignore[arg-type]
    page: dict[str, object] = found["pages"]["page"]
    return page


def answering(
    answer: bytes, heads: list[bytes]
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await read_head(reader):
            heads.append(head)
            writer.write(answer)
            if answer in (CLOSING, CUT):
                break
        writer.close()

    return handle


async def read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def test_a_compressed_answer_is_read_as_what_it_says() -> None:
    body = gzip.compress(b"hello" * 100)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)

    async def read() -> Answer:
        reader = asyncio.StreamReader()
        reader.feed_data(head + body)
        return (await read_answer(reader))[0]

    assert asyncio.run(read()) == Answer(200, len(head) + len(body), b"hello" * 100)


@pytest.mark.parametrize(
    ("answer", "status"), [(PLAIN, "200"), (CHUNKED, "200"), (CLOSING, "503"), (CUT, "broken")]
)
def test_each_answer_counts_once_by_its_status(answer: bytes, status: str) -> None:
    heads: list[bytes] = []
    page = asyncio.run(served(answering(answer, heads)))
    assert set(page["statuses"]) == {status}  # type: ignore[call-overload]
    assert page["statuses"][status] == len(page["latencies"]) == len(heads) > 4  # type: ignore[index,arg-type]


def test_all_variants_are_asked_for_as_a_browser_asks() -> None:
    heads: list[bytes] = []
    asyncio.run(served(answering(PLAIN, heads)))
    assert {head.split(b" ")[1] for head in heads} == {b"/a", b"/b"}
    assert all(b"Accept-Encoding: gzip" in head and b"Cookie: c=1" in head for head in heads)
    assert not any(b"If-None-Match" in head for head in heads)


def test_with_a_rate_a_late_answer_makes_the_next_one_late_too() -> None:
    """As it is for people: they come whatever became of those before."""

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_head(reader):
            await asyncio.sleep(0.1)
            writer.write(PLAIN)
        writer.close()

    page = asyncio.run(served(slow, rate=40.0, seconds=0.5))
    latencies = page["latencies"]
    assert len(latencies) == 20, "one of two clients begins each 25 ms"  # type: ignore[arg-type]
    assert max(latencies) > 0.4, "the last of them were due long before they could be sent"  # type: ignore[call-overload]
