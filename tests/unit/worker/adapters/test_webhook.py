"""Messages go to a webhook, whose address is shown to nobody."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from cluster.domain.errors import Unavailable
from worker.adapters.webhook import call_webhook


class Receiver(BaseHTTPRequestHandler):
    received: ClassVar[list[tuple[str, dict[str, str], bytes]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.path, dict(self.headers), body))
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Location", "/204/elsewhere")
        self.send_header("Content-Length", "1000000" if "truncated" in self.path else "0")
        if "truncated" in self.path:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()

    def log_message(self, *words: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    """Answers with the status that is the first part of a path."""
    Receiver.received = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [200, 204])
def test_a_message_is_signed_json(address: str, status: int) -> None:
    call_webhook(f"{address}/{status}/hook?key=1", "secret", 7, "1700000000", {"text": "노드"})
    ((path, headers, body),) = Receiver.received
    assert path == f"/{status}/hook?key=1" and json.loads(body) == {"text": "노드"}
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert (headers["X-Groundcrew-Delivery"], headers["X-Groundcrew-Timestamp"]) == ("7", "1700000000")
    expected = hmac.new(b"secret", b"1700000000." + body, hashlib.sha256).hexdigest()
    assert headers["X-Groundcrew-Signature"] == f"sha256={expected}"


@pytest.mark.parametrize("status", [302, 307, 404, 500])
def test_what_is_not_taken_is_named_by_its_status_and_no_redirect_is_followed(
    address: str, status: int
) -> None:
    with pytest.raises(Unavailable) as failed:
        call_webhook(f"{address}/{status}/canary", "s", 1, "0", {})
    assert failed.value.data["error"] == f"HTTP {status}"
    assert [path for path, _, _ in Receiver.received] == [f"/{status}/canary"]


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/canary path",
        "http://127.0.0.1:9/canary\n",
        "http://127.0.0.1:canary/",
        "ftp://127.0.0.1/canary",
        "canary",
    ],
)
def test_an_address_that_cannot_be_called_is_not_shown(address: str) -> None:
    with pytest.raises(Unavailable) as failed:
        call_webhook(address, "s", 1, "0", {})
    assert "canary" not in str(failed.value.data)


def test_the_body_of_an_answer_is_not_read(address: str) -> None:
    call_webhook(f"{address}/200/truncated", "secret", 1, "1764000000", {})
    assert len(Receiver.received) == 1
