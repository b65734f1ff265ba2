"""Parses the query parameters of a page (filters, tabs, page positions) and builds links that change some of them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeVar
from urllib.parse import quote, urlencode

from flask import request

from cluster.domain.errors import Refused
from cluster.store.base import LARGEST_ID

MAX_DIGITS = 12


class NumberedRow(Protocol):
    @property
    def id(self) -> int: ...


Row = TypeVar("Row", bound=NumberedRow)


def choice_param(name: str, allowed: Collection[str], default: str = "") -> str:
    """One of `allowed`, or the default if the address does not name one. Raises Refused."""
    value = request.args.get(name, "")
    if not value:
        return default
    if value not in allowed:
        raise Refused(name, "value.not_a_choice", allowed=sorted(allowed))
    return value


def text_param(name: str, longest: int = 100) -> str:
    """A text without characters that cannot be stored, shortened; empty if the address has none."""
    return request.args.get(name, "").replace("\0", "").strip()[:longest]


def id_param(name: str) -> int | None:
    """A row's id or a count; None if the address does not name one. Raises Refused."""
    return parse_id(request.args, name)


def split_page(rows: Sequence[Row], length: int) -> tuple[Sequence[Row], int | None]:
    """The page's rows, and the id after which the next page begins; None for the last page.

    `rows` has one row more than the page if another page follows.
    """
    page = rows[:length]
    return page, page[-1].id if len(rows) > length else None


def parse_id(values: Mapping[str, str], name: str) -> int | None:
    """Parse an id of a form or query, capped at the largest id that the database can compare. Raises Refused."""
    value = values.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS):
        raise Refused(name, "value.not_a_whole_number", value=value[:40])
    return min(int(value), LARGEST_ID)


def time_param(name: str) -> float | None:
    """Unix seconds with at most one decimal; None if the address does not name a time. Raises Refused."""
    value = request.args.get(name, "")
    if not value:
        return None
    whole, _, tenth = value.partition(".")
    if not ((whole + tenth).isascii() and (whole + (tenth or "0")).isdigit() and len(value) <= MAX_DIGITS):
        raise Refused(name, "value.not_a_whole_number", value=value[:40])
    return float(value)


def current_url_with(**changes: object) -> str:
    """This page's address with some parameters changed; None removes a parameter. It does not use `url_for`, which
    would take parameters of the address, which anybody can write, for its own options.
    """
    values = {**request.args.to_dict(), **changes}
    kept = {key: value for key, value in values.items() if value not in (None, "")}
    return quote(request.path) + (f"?{urlencode(kept, doseq=True)}" if kept else "")


def parse_node_ids(text: str) -> list[int]:
    """Parse ids separated by commas; anything that is not an id becomes 0, which no node has."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return [parse_node_id(word) for word in words]


def parse_node_id(word: str) -> int:
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 12 else 0
    return number if number <= LARGEST_ID else 0
