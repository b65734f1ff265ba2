"""Hostile requests at the address of notebooks, through the real nginx: the gate is asked for the notebook that would
get them, and neither the visitor's cookies nor a second request inside the first one pass.
"""

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from tests.integration.worker.embedded.test_nginx import PATIENCE, Front, a_front

OWN, FOREIGN = 1, 2
TOKEN = "the-notebook's-token"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Recorder"

    def do_GET(self) -> None:
        self.server.answer(self)

    do_POST = do_GET

    def log_message(self, *words: object) -> None:
        pass

    def address_string(self) -> str:
        return ""


class Recorder(ThreadingUnixStreamServer):
    """Keeps the (path, headers) of each request, headers by lower-case names."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        super().__init__(str(path), Handler)
        path.chmod(0o666)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): text for name, text in request.headers.items()}
        self.requests.append((request.path, headers))
        request.rfile.read(int(headers.get("content-length", "0")))
        status, more = self.decide(headers)
        request.send_response(status)
        for name, text in {"Content-Length": "0", "Connection": "close", **more}.items():
            request.send_header(name, text)
        request.end_headers()

    def decide(self, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        return 200, {"Set-Cookie": "gc_session_8470=evil", "X-Accel-Redirect": "/", "Clear-Site-Data": '"*"'}


class Gate(Recorder):
    """Stands for the portal: lets into notebook OWN under its own name or under none, without a foreign Origin."""

    notebook: Path

    def decide(self, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        named = headers.get("x-notebook-host", "")
        if headers.get("x-notebook") != str(OWN) or named not in ("", str(OWN)):
            return 403, {}
        if "evil" in headers.get("origin", ""):
            return 403, {}
        return 204, {"X-Notebook-Upstream": f"http://unix:{self.notebook}:", "X-Notebook-Token": TOKEN}


@dataclass
class Stage:
    front: Front
    gate: Gate
    notebook: Recorder
    threads: list[threading.Thread] = field(default_factory=list)

    def send(self, request: str) -> int:
        """The bytes as they stand; the status of the first answer."""
        with socket.create_connection(
            ("127.0.0.1", self.front.settings.port), timeout=PATIENCE
        ) as connection:
            connection.sendall(request.replace("\n", "\r\n").encode())
            head = connection.makefile("rb").readline()
        found = re.match(rb"HTTP/1\.\d (\d+)", head)
        assert found, head
        return int(found[1])

    def ask(self, path: str, *headers: str, host: str = f"nb-{OWN}.localhost") -> int:
        lines = "".join(f"{line}\n" for line in ("Connection: close", *headers))
        return self.send(f"GET {path} HTTP/1.1\nHost: {host}\n{lines}\n")


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with a_front() as front:
        yield front


@contextmanager
def running(server: Recorder, path: Path) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()
        path.unlink()


@pytest.fixture
def stage(front: Front) -> Iterator[Stage]:
    socket_of_notebook = front.places.nginx_dir / "nb.sock"
    gate, notebook = Gate(front.places.portal_socket), Recorder(socket_of_notebook)
    gate.notebook = socket_of_notebook
    with running(gate, front.places.portal_socket), running(notebook, socket_of_notebook):
        yield Stage(front, gate, notebook)


def test_the_owner_gets_in_without_cookies_and_with_the_token_of_the_notebook(stage: Stage) -> None:
    cookies = "Cookie: gc_session_8470=the-visitor's; gc_notebook_1=theirs"
    assert stage.ask(f"/nb/{OWN}/api", cookies, "Authorization: Bearer gc_1_stolen") == 200
    ((path, headers),) = stage.notebook.requests
    assert path == f"/nb/{OWN}/api" and headers["authorization"] == f"token {TOKEN}"
    assert "cookie" not in headers and "gc_1_stolen" not in json.dumps(headers)


@pytest.mark.parametrize(
    "path",
    [
        f"/nb/{FOREIGN}/api",
        f"/nb/{OWN}/../{FOREIGN}/api",
        f"/nb/{OWN}/%2e%2e/{FOREIGN}/api",
        f"//nb//{FOREIGN}/api",
        f"/nb/{OWN}/..%2f{FOREIGN}/api",
        f"/x/../nb/{FOREIGN}/api",
    ],
)
def test_a_path_that_ends_at_another_notebook_is_asked_for_as_that_one(stage: Stage, path: str) -> None:
    assert stage.ask(path) == 403
    assert [headers["x-notebook"] for _, headers in stage.gate.requests] == [str(FOREIGN)]
    assert stage.notebook.requests == []


@pytest.mark.parametrize(
    "path", ["/nb/../notebook-gate", "/notebook-gate", "/groundcrew-gate", "/nb/x/api", "/", "/api/v1/jobs"]
)
def test_nothing_but_notebooks_answers_at_their_address(stage: Stage, path: str) -> None:
    assert stage.ask(path, f"X-Notebook: {OWN}") == 404
    assert stage.gate.requests == stage.notebook.requests == []


@pytest.mark.parametrize(
    ("headers", "host"),
    [
        (
            ("Origin: https://evil.example", "Upgrade: websocket", "Connection: Upgrade"),
            f"nb-{OWN}.localhost",
        ),
        (("Origin: http://nb-2.evil.localhost",), f"nb-{OWN}.localhost"),
        ((f"X-Notebook-Host: {OWN}",), f"nb-{FOREIGN}.localhost"),
    ],
)
def test_a_foreign_page_and_a_foreign_name_are_refused(
    stage: Stage, headers: tuple[str, ...], host: str
) -> None:
    lines = "".join(f"{line}\n" for line in headers)
    assert stage.send(f"GET /nb/{OWN}/api/kernels/1/channels HTTP/1.1\nHost: {host}\n{lines}\n") == 403
    assert stage.notebook.requests == []


def test_what_a_visitor_says_of_the_notebook_is_not_believed(stage: Stage) -> None:
    lies = (f"X-Notebook: {OWN}", f"X_Notebook: {OWN}", "X-Notebook-Upstream: http://127.0.0.1:1")
    assert stage.ask(f"/nb/{FOREIGN}/api", *lies) == 403
    assert stage.gate.requests[0][1]["x-notebook"] == str(FOREIGN)


@pytest.mark.parametrize(
    "lengths",
    [
        "Content-Length: 4\nTransfer-Encoding: chunked\n",
        "Transfer-Encoding: chunked\nContent-Length: 4\n",
        "Content-Length: 4\nContent-Length: 60\n",
        "Transfer-Encoding: xchunked\n",
        "Transfer-Encoding: chunked\nTransfer-Encoding: identity\n",
        "Content-Length: +4\n",
    ],
)
def test_two_lengths_of_a_body_are_refused(stage: Stage, lengths: str) -> None:
    inner = f"0\n\nGET /nb/{OWN}/inner HTTP/1.1\nHost: nb-{OWN}.localhost\n\n"
    head = f"POST /nb/{OWN}/api HTTP/1.1\nHost: nb-{OWN}.localhost\n{lengths}\n"
    assert stage.send(head + inner) in (400, 501)
    assert stage.notebook.requests == []


def test_a_notebook_sets_no_cookie_and_leads_nginx_nowhere(stage: Stage) -> None:
    status, headers, _ = stage.front.ask("GET", f"/nb/{OWN}/api", Host=f"nb-{OWN}.localhost")
    assert status == 200 and headers.keys().isdisjoint({"set-cookie", "clear-site-data", "x-accel-redirect"})
    assert "frame-ancestors 'self'" in headers["content-security-policy"]


def test_the_portals_own_name_leads_to_no_notebook(stage: Stage) -> None:
    stage.ask(f"/nb/{OWN}/api", host=f"127.0.0.1:{stage.front.settings.port}")
    assert stage.notebook.requests == []
    assert [path for path, _ in stage.gate.requests] == [f"/nb/{OWN}/api"]
