"""Map publishers' addresses to a site's mirrors, and fetch small files over HTTP with retries."""

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from worker.bundle.build_cache import CollectingFailed

TRIES = 4
PATIENCE = 60.0
"""Seconds without a byte after which a request fails."""
AGAIN = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class MirrorClient:
    """`mirrors` maps host names to the addresses that a site uses instead, as https://mirror.lab/k8s."""

    mirrors: Mapping[str, str] = field(default_factory=dict)
    pause: float = 2.0
    """Seconds before the second try. They double before the third one."""

    def mirrored_url(self, url: str) -> str:
        parts = urlsplit(url)
        place = self.mirrors.get(parts.netloc)
        return url if place is None else url.replace(f"{parts.scheme}://{parts.netloc}", place.rstrip("/"), 1)

    def fetch_text(self, url: str) -> str:
        """The text of a small file. Raises CollectingFailed."""
        address = self.mirrored_url(url)
        # The machine's own certificates are used, because a site's proxy may have one of its own authority.
        context = ssl.create_default_context()
        with httpx.Client(verify=context, timeout=PATIENCE, follow_redirects=True) as client:
            try:
                answer = self.get_patiently(client, address)
                answer.raise_for_status()
            except httpx.HTTPStatusError as error:
                status = f"{error.response.status_code} {error.response.reason_phrase}"
                raise CollectingFailed(
                    "{address} answered {status}", address=error.request.url, status=status
                ) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise CollectingFailed(
                    "{address} cannot be fetched: {error}", address=address, error=error
                ) from error
        return answer.content.decode()

    def get_patiently(self, client: httpx.Client, address: str) -> httpx.Response:
        """Repeats the request if the server is busy or the connection breaks. The answer of the last try counts."""
        for attempt in range(1, TRIES):
            try:
                answer = client.get(address)
                if answer.status_code not in AGAIN:
                    return answer
            except httpx.TransportError:
                pass
            time.sleep(self.pause * attempt)
        return client.get(address)
