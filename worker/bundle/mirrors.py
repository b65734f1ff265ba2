"""Map publishers' addresses to a site's mirrors and fetch small files over HTTP, with retries."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from worker.bundle.build_cache import CollectingFailed

BLOCK = 1 << 20
TRIES = 4
PATIENCE = 60.0
"""Seconds without a byte."""
AGAIN = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class MirrorClient:
    """`mirrors` has by host name the address that a site asks in its place, as https://mirror.lab/k8s."""

    mirrors: Mapping[str, str] = field(default_factory=dict)
    pause: float = 2.0
    """Seconds before the second try; twice as many before the third."""

    def mirrored_url(self, url: str) -> str:
        parts = urlsplit(url)
        place = self.mirrors.get(parts.netloc)
        return url if place is None else url.replace(f"{parts.scheme}://{parts.netloc}", place.rstrip("/"), 1)

    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
        """The answer, to be closed; raises HTTPError for what asking again would not change."""
        request = request_of(self.mirrored_url(url), headers or {})
        for attempt in range(1, TRIES + 1):
            try:
                return urllib.request.urlopen(request, timeout=PATIENCE)
            except urllib.error.HTTPError as error:
                if error.code not in AGAIN or attempt == TRIES:
                    raise
                error.close()
            except (http.client.HTTPException, OSError) as error:
                if attempt == TRIES:
                    raise CollectingFailed(f"{request.full_url} cannot be fetched: {error}") from error
            time.sleep(self.pause * attempt)
        raise AssertionError("the last try returns or raises")

    def read(self, url: str, headers: Mapping[str, str] | None = None) -> bytes:
        """All of a small file."""
        try:
            with self.open(url, headers) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise CollectingFailed(f"{error.url} answered {error.code} {error.reason}") from error
        except (http.client.HTTPException, OSError) as error:
            raise CollectingFailed(f"{self.mirrored_url(url)} broke off: {error!r}") from error

    def fetch_text(self, url: str) -> str:
        return self.read(url).decode()

    def json(self, url: str) -> Any:
        return json.loads(self.read(url))

    def file(self, url: str, target: Path, headers: Mapping[str, str] | None = None) -> None:
        """Into a file beside it first; what that has already is asked for no more, where the server can do so."""
        partial = target.with_name(f".{target.name}.partial")
        for attempt in range(1, TRIES + 1):
            if self._once(url, partial, dict(headers or {})):
                partial.replace(target)
                return
            time.sleep(self.pause * attempt)
        raise CollectingFailed(
            f"{self.mirrored_url(url)} broke off {TRIES} times; the next run goes on from there."
        )

    def _once(self, url: str, partial: Path, headers: dict[str, str]) -> bool:
        """Whether it came to the end; a disk that is full is not the server's doing, and raises OSError."""
        there = partial.stat().st_size if partial.exists() else 0
        if there:
            headers["Range"] = f"bytes={there}-"
        try:
            with (
                self.open(url, headers) as answer,
                partial.open("ab" if answer.status == 206 else "wb") as file,
            ):
                missing = int(answer.headers.get("Content-Length") or -1)
                while block := next_block(answer):
                    file.write(block)
                    missing -= len(block)
                return block is not None and missing <= 0
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 416:
                    # All of it was there, or it is another file now: its sum will tell.
                    return True
                raise CollectingFailed(f"{error.url} answered {error.code} {error.reason}") from error


def request_of(address: str, headers: Mapping[str, str]) -> urllib.request.Request:
    """A token stays with whom it is for: registries send elsewhere for layers, to stores that refuse it or keep it."""
    request = urllib.request.Request(address)
    for name, value in headers.items():
        add = request.add_unredirected_header if name == "Authorization" else request.add_header
        add(name, value)
    return request


def next_block(answer: Any) -> bytes | None:
    """Empty at the end; None where the line broke."""
    try:
        return bytes(answer.read(BLOCK))
    except (http.client.HTTPException, OSError):
        return None
