"""The real nginx by the product's own configuration, with a stand-in behind it that says what reached it."""

import gzip
import http.client
import json
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cluster.settings import Settings
from tests.free_ports import free_port
from tests.installation import ROOT
from tests.integration.worker.executors.conftest import until
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.nginx import STATIC, copy_static_files, ensure_nginx_configuration
from worker.embedded.state_directory import ensure_state_directory

MIB = 1024 * 1024
PATIENCE = 30
ARCHIVE = "/workspaces/1/datasets/new"
CODE = "/trainings/1/code"


class Answer(BaseHTTPRequestHandler):
    """Says which headers came and how long the body was."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.say(0)

    def do_POST(self) -> None:
        heads.append(self.path)
        self.say(len(self.rfile.read(int(self.headers["Content-Length"]))))

    def say(self, length: int) -> None:
        asked = Path(str(self.server.server_address)).name
        body = json.dumps({"headers": dict(self.headers), "length": length, "socket": asked}).encode()
        self.send_response(200)
        self.send_header(
            "Content-Type", "text/event-stream" if self.path == "/stream" else "application/json"
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass

    def address_string(self) -> str:
        return ""


heads: list[str] = []
"""Paths of requests with a body whose heads have reached the stand-in."""


class Server(socketserver.ThreadingUnixStreamServer):
    """`connections` are those that nginx may keep for its next request."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(path, Answer)

    def get_request(self) -> tuple[socket.socket, str]:
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def end_connections(self) -> None:
        for each in self.connections:
            with suppress(OSError):  # nginx has ended it before.
                each.shutdown(socket.SHUT_RDWR)


@dataclass
class Front:
    places: InstallationPaths
    settings: Settings

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.settings.port, timeout=PATIENCE)
        connection.request(
            method, path, body or None, {name.replace("_", "-"): text for name, text in headers.items()}
        )
        answer = connection.getresponse()
        found = answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def begin(self, text: str) -> socket.socket:
        """A request that is not sent to its end."""
        begun = socket.create_connection(("127.0.0.1", self.settings.port), timeout=PATIENCE)
        begun.sendall(text.replace("\n", "\r\n").encode())
        return begun

    @contextmanager
    def portal(self) -> Iterator[None]:
        with stand_in(self.places.portal_socket), stand_in(self.places.stream_socket):
            yield


@contextmanager
def stand_in(path: Path) -> Iterator[None]:
    with Server(str(path)) as server:
        path.chmod(0o666)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.end_connections()
            thread.join()
            path.unlink()


@contextmanager
def a_front(tls_for: str = "") -> Iterator[Front]:
    folder = Path(tempfile.mkdtemp(prefix="gc-"))
    folder.chmod(0o755)
    places = InstallationPaths(ROOT, folder / "state", folder / "cache")
    ensure_state_directory(places)
    settings = Settings(places.state_dir, places.cache_dir, "", "", "", port=free_port())
    if tls_for:
        (folder / "tls").mkdir()
        ensure_authority(folder / "tls", "a test")
        ensure_certificate(folder / "tls", [tls_for])
        settings = replace(settings, host=tls_for, tls_dir=folder / "tls")
    ensure_nginx_configuration(places, settings)
    copy_static_files(places, settings)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(["/bin/sh", str(places.nginx_dir / "start")], stdout=log, stderr=log)
    try:
        until(lambda: listens(settings) or process.poll() is not None, PATIENCE, "nginx listens")
        assert process.poll() is None, (folder / "log").read_text()
        yield Front(places, settings)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(folder)


def listens(settings: Settings) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((settings.host, settings.port)) == 0


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with a_front() as front:
        yield front


@pytest.mark.parametrize(
    ("path", "socket_name"),
    [
        ("/stream?topics=jobs", "stream.sock"),
        ("/jobs/7/log?offset=5", "stream.sock"),
        ("/jobs/7/log/raw", "portal.sock"),
        ("/jobs/7", "portal.sock"),
        ("/stream/more", "portal.sock"),
        ("/api/v1/jobs/7/log", "portal.sock"),
    ],
)
def test_what_open_pages_follow_is_asked_of_its_own_process(
    front: Front, path: str, socket_name: str
) -> None:
    with front.portal():
        for _ in range(2):  # The second time over a connection that nginx has kept.
            status, _, body = front.ask("GET", path)
            assert (status, json.loads(body)["socket"]) == (200, socket_name)


@pytest.mark.parametrize(
    ("site", "mode", "kind", "is_answered"),
    [
        ("same-origin", "cors", "empty", True),
        ("none", "navigate", "document", True),
        ("same-site", "navigate", "document", True),  # A link on another site's page.
        ("cross-site", "navigate", "document", True),
        ("same-site", "no-cors", "image", False),
        ("same-site", "cors", "empty", False),
        ("same-site", "navigate", "iframe", False),
        ("cross-site", "no-cors", "empty", False),
        ("cross-site", "no-cors", "script", False),
    ],
)
def test_a_page_of_another_site_or_port_opens_pages_and_makes_the_portal_do_nothing_else(
    front: Front, site: str, mode: str, kind: str, is_answered: bool
) -> None:
    said = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": kind}
    with front.portal():
        for path in ("/accounting", "/api/v1/jobs", "/stream", "/jobs/1/log", "/static/app.css"):
            assert front.ask("GET", path, **said)[0] == (200 if is_answered else 403), path


def test_the_portal_hears_the_address_that_nginx_sees_behind_what_others_say(front: Front) -> None:
    with front.portal():
        said = json.loads(
            front.ask(
                "GET", "/", X_Forwarded_For="192.0.2.7", X_Forwarded_Ssl="on", X_Forwarded_Proto="gopher"
            )[2]
        )["headers"]
    assert said["X-Forwarded-For"] == "192.0.2.7, 127.0.0.1"
    assert said["X-Forwarded-Proto"] == "http" and "X-Forwarded-Ssl" not in said
    assert said["Host"] == said["X-Forwarded-Host"] == f"127.0.0.1:{front.settings.port}"


def test_a_proxy_on_this_machine_may_say_that_the_browser_came_by_https(front: Front) -> None:
    with front.portal():
        said = json.loads(front.ask("GET", "/", X_Forwarded_Proto="https")[2])["headers"]
    assert said["X-Forwarded-Proto"] == "https"


@pytest.mark.parametrize(
    ("path", "largest", "refused"),
    [
        ("/sign-in", 2 * MIB, 2 * MIB + 1),
        (CODE, 28 * MIB, 29 * MIB + 1),
        (ARCHIVE, 26 * MIB, 20 * 1024 * MIB + 1),
    ],
)
def test_each_route_takes_what_it_is_for(front: Front, path: str, largest: int, refused: int) -> None:
    with front.portal():
        status, _, body = front.ask("POST", path, bytes(largest))
        assert (status, json.loads(body)["length"]) == (200, largest)
        with front.begin(f"POST {path} HTTP/1.1\nHost: x\nContent-Length: {refused}\n\n") as begun:
            answer = begun.makefile("rb").readline()
    assert b" 413 " in answer


def test_an_archive_goes_through_as_it_arrives_and_a_form_once_it_is_whole(front: Front) -> None:
    heads.clear()
    with front.portal(), front.begin("POST /sign-in HTTP/1.1\nHost: x\nContent-Length: 5\n\na") as form:
        with front.begin(f"POST {ARCHIVE} HTTP/1.1\nHost: x\nContent-Length: 5\n\na") as archive:
            until(lambda: heads, PATIENCE, "the portal has the archive's head")
            assert heads == [ARCHIVE]
            archive.sendall(b"bcde")
            assert b" 200 " in archive.makefile("rb").readline()
        form.sendall(b"bcde")
        assert b" 200 " in form.makefile("rb").readline()
    assert heads == [ARCHIVE, "/sign-in"]


def test_an_archive_that_the_portal_no_longer_reads_is_said_to_be_broken_off(front: Front) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(front.places.portal_socket))
        front.places.portal_socket.chmod(0o666)
        silent.listen()
        size = 50 * MIB
        with front.begin(f"POST {ARCHIVE} HTTP/1.1\nHost: x\nContent-Length: {size}\n\n") as begun:
            silent.accept()[0].close()
            answer = begun.makefile("rb").read()
    front.places.portal_socket.unlink()
    assert answer.startswith(b"HTTP/1.1 503 ") and "끊겼습니다".encode() in answer


def test_without_the_portal_a_page_says_so_and_asks_again(front: Front) -> None:
    status, headers, body = front.ask("GET", "/jobs")
    assert (status, headers["retry-after"], headers["cache-control"]) == (503, "5", "no-store")
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert b'http-equiv="refresh"' in body and "포털".encode() in body
    status, headers, body = front.ask("POST", "/api/v1/jobs", b"{}")
    assert (status, headers["content-type"]) == (503, "application/problem+json; charset=utf-8")
    assert json.loads(body)["code"] == "http.503"


def test_static_files_need_no_portal_and_are_kept_by_their_version(front: Front) -> None:
    status, headers, body = front.ask("GET", "/static/app.css?v=0.1.0", Accept_Encoding="gzip")
    assert (status, headers["content-type"], headers["content-encoding"]) == (
        200,
        "text/css; charset=utf-8",
        "gzip",
    )
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["x-content-type-options"] == "nosniff" and len(body) > 1000
    small = len(gzip.compress((STATIC / "app.css").read_bytes(), 6))
    assert len(body) < 1.05 * small, "not at nginx's fastest level, which leaves a fifth more"
    _, headers, _ = front.ask("GET", "/static/js/live.js")
    assert headers["content-type"] == "application/javascript; charset=utf-8"
    assert headers["cache-control"] == "no-cache" and headers["etag"]
    assert front.ask("GET", "/static/../nginx.conf")[0] in (400, 503)
    assert front.ask("GET", "/~front/503.html")[0] == 404


def test_one_session_has_few_streams_and_nobody_elses_are_fewer_for_it(front: Front) -> None:
    """A stream's head that waits for the stand-in holds its place."""
    place = f"Cookie: gc_session_{front.settings.port}="
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(front.places.stream_socket))
        front.places.stream_socket.chmod(0o666)
        silent.listen(200)
        mine = [front.begin(f"GET /stream HTTP/1.1\nHost: x\n{place}one\n\n") for _ in range(40)]
        accepted = [silent.accept()[0] for _ in mine]
        with front.begin(f"GET /stream HTTP/1.1\nHost: x\n{place}one\n\n") as refused:
            assert b" 429 " in refused.makefile("rb").readline()
        with front.begin(f"GET /stream HTTP/1.1\nHost: x\n{place}other\n\n"):
            accepted.append(silent.accept()[0])
        for each in (*mine, *accepted):
            each.close()
    front.places.stream_socket.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="without root everything is one user's")
def test_nginx_is_nobodys_user_with_nothing_in_its_surroundings(front: Front) -> None:
    pid = int((front.places.nginx_dir / "temp" / "nginx.pid").read_text())
    about = Path(f"/proc/{pid}")
    status = dict(line.split(":\t", 1) for line in (about / "status").read_text().splitlines())
    assert status["Uid"].split() == status["Gid"].split() == ["100000"] * 4
    assert status["Groups"].strip() == "" and int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1"
    assert (about / "environ").read_bytes() == b""


def test_another_address_speaks_tls_and_sends_plain_requests_there() -> None:
    with a_front("127.0.0.2") as front, front.portal():
        trust = ssl.create_default_context(cafile=str(front.settings.tls_dir / "authority.pem"))  # type: ignore[operator]
        url = f"https://127.0.0.2:{front.settings.port}/"
        with urllib.request.urlopen(url, timeout=PATIENCE, context=trust) as answer:
            assert json.load(answer)["headers"]["X-Forwarded-Proto"] == "https"
        connection = http.client.HTTPConnection("127.0.0.2", front.settings.port, timeout=PATIENCE)
        connection.request("GET", "/jobs")
        plain = connection.getresponse()
        assert (plain.status, plain.getheader("Location")) == (302, f"{url}jobs")
        connection.close()
