"""The language and time zone of the person who reads an answer, noted once the request is let in.

A page reads them for every translated text and every time that it shows, so reading them has to cost next to nothing.
"""

from contextvars import ContextVar
from typing import NamedTuple
from zoneinfo import ZoneInfo

from flask import Flask


class Reader(NamedTuple):
    language: str
    zone: ZoneInfo


_noted: ContextVar[Reader | None] = ContextVar("reader", default=None)


def init_app(app: Flask) -> None:
    app.teardown_request(forget_reader)


def note_reader(reader: Reader) -> None:
    """Keeps the reader until the request ends. Language and zone do not change within a request."""
    _noted.set(reader)


def forget_reader(_problem: BaseException | None) -> None:
    _noted.set(None)


def noted_reader() -> Reader | None:
    """None before a request is let in, for pages that everybody may see, and outside of requests."""
    return _noted.get()
