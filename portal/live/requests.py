"""A request to this service, and its answer, in the terms of ASGI."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from cluster.domain.errors import Refused
from cluster.store.base import LARGEST_ID

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_DIGITS = 12
MAX_PARAMETERS = 50


class Request:
    """Reads the head of a request; nobody sends a body here."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._query: bytes = scope["query_string"]
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The headers by name in lower case. If a name occurs several times, the last one counts."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self._headers}

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The parameters. If a name occurs several times, the first one counts. Raises Refused."""
        text = self._query.decode("latin-1")
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=MAX_PARAMETERS)
        except ValueError as error:
            raise Refused("query", "body.too_many_values", most=MAX_PARAMETERS) from error
        return dict(reversed(pairs))

    def cookie(self, name: str) -> str:
        """The value of a cookie; empty if the browser sent none of that name."""
        for part in self.headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return ""

    def id_param(self, name: str) -> int | None:
        """A row's id or a count; None if the address does not name one. Raises Refused."""
        value = self.query.get(name, "")
        if not value:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS):
            raise Refused(name, "value.not_a_whole_number", value=value[:40])
        return min(int(value), LARGEST_ID)


@dataclass(frozen=True)
class Answer:
    """A response that is sent at once."""

    status: int = 200
    body: bytes = b""
    mimetype: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


async def send_head(send: Send, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def send_answer(send: Send, answer: Answer, headers: Mapping[str, str]) -> None:
    own = {"Content-Type": answer.mimetype, "Content-Length": str(len(answer.body))}
    await send_head(send, answer.status, {**headers, **own, **answer.headers})
    await send({"type": "http.response.body", "body": answer.body})
