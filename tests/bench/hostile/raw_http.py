"""HTTP/1.1 as a few lines of asyncio: one connection per request, or only a part of one."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

PIECE = 256 * 1024
LONGEST_KEPT = 256 * 1024
"""Bytes of a body that an answer keeps; the rest is read and counted."""


class NoAnswer(Exception):
    """The connection was refused, broken, or closed before a status line."""


@dataclass(frozen=True)
class Answer:
    """`length` is the body's; `body` holds its beginning, undecoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    length: int

    @property
    def is_honest_refusal(self) -> bool:
        """503 that says when to come again."""
        return self.status == 503 and "retry-after" in self.headers


@dataclass(frozen=True)
class Address:
    """Where the portal listens; loopback alone."""

    host: str
    port: int

    async def connect(self) -> tuple[StreamReader, StreamWriter]:
        return await asyncio.open_connection(self.host, self.port, limit=PIECE)

    def head(self, method: str, path: str, headers: Mapping[str, str], *, is_open: bool = False) -> bytes:
        """`is_open`: without the empty line that would end it."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + ("\r\n" if is_open else "\r\n\r\n")).encode()

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: Iterable[bytes] = (),
        *,
        is_stream: bool = False,
    ) -> Answer:
        """The whole answer; of a stream only its first piece. Raises NoAnswer."""
        try:
            reader, writer = await self.connect()
        except OSError as error:
            raise NoAnswer(str(error)) from error
        try:
            writer.write(self.head(method, path, headers or {}))
            await send(writer, body)
            return await read_answer(reader, is_stream=is_stream)
        except (OSError, EOFError, ValueError) as error:
            raise NoAnswer(f"{type(error).__name__}: {error}") from error
        finally:
            writer.transport.abort()


async def send(writer: StreamWriter, body: Iterable[bytes]) -> None:
    """A server that answers before it has read everything closes its end: then its answer counts."""
    try:
        for piece in body:
            writer.write(piece)
            await writer.drain()
    except OSError:
        return


async def read_answer(reader: StreamReader, *, is_stream: bool = False) -> Answer:
    """Raises EOFError and ValueError where that is not HTTP."""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body, length = bytearray(), 0
    while piece := await reader.read(PIECE):
        length += len(piece)
        if len(body) < LONGEST_KEPT:
            body += piece
        if is_stream:
            break
    return Answer(int(first.split()[1]), headers, bytes(body), length)
