"""An agent posts its heartbeat with the token that its file holds at that moment."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from cluster.portal_paths import HEARTBEATS
from worker.adapters.portal_client import PortalClient

UNITS = [{"identity": "GPU-a", "kind": "gpu", "position": 0}]


class Portal(ThreadingHTTPServer):
    """Answers with `status` and keeps what it was told."""

    status = 204

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Portal

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def portal() -> Iterator[Portal]:
    with Portal() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(portal: Portal, tmp_path: Path) -> Iterator[PortalClient]:
    (tmp_path / "token").write_text("gcn_1_first\n")
    client = PortalClient(f"http://127.0.0.1:{portal.server_port}", None, tmp_path / "token")
    with client.client:
        yield client


def test_a_new_token_counts_at_once(portal: Portal, client: PortalClient) -> None:
    client.post_heartbeat("boot-1", {"cpus": 8}, UNITS)
    client.token_file.write_text("gcn_2_second")
    client.post_heartbeat("boot-1", {"cpus": 8}, UNITS)
    body = {"boot_id": "boot-1", "facts": {"cpus": 8}, "units": UNITS}
    assert portal.requests == [
        (HEARTBEATS, "Bearer gcn_1_first", body),
        (HEARTBEATS, "Bearer gcn_2_second", body),
    ]


def test_a_refusal_is_an_error(portal: Portal, client: PortalClient) -> None:
    portal.status = 401
    with pytest.raises(httpx.HTTPError, match="401"):
        client.post_heartbeat("boot-1", {}, [])
