"""A notebook's server is asked with patience for little, and believed in little."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from worker.adapters import jupyter_status
from worker.adapters.jupyter_status import JupyterServer, JupyterStatus, parse_activity

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


@contextmanager
def served(path: Path, answers: dict[str, bytes], asked: list[str]) -> Iterator[JupyterServer]:
    """Answers on a socket with these bodies by path; a path without one gets 404."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                head = connection.recv(65536).decode()
                asked.append(head)
                body = answers.get(head.split()[1])
                status = "404 Not Found" if body is None else "200 OK"
                content = body or b""
                connection.sendall(
                    f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
                )

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield JupyterServer("/nb/7/", "a-token", path)
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def test_kernels_and_terminals_say_when_they_worked(tmp_path: Path) -> None:
    kernels = [{"last_activity": "2026-11-24T11:00:00Z", "execution_state": "busy"}]
    terminals = [{"last_activity": "2026-11-24T12:00:00.000000Z"}]
    answers = {
        "/nb/7/api": b'{"version": "2"}',
        "/nb/7/api/kernels": json.dumps(kernels).encode(),
        "/nb/7/api/terminals": json.dumps(terminals).encode(),
    }
    asked: list[str] = []
    with served(tmp_path / "s", answers, asked) as server:
        assert server.is_ready()
        assert server.read_status() == JupyterStatus(NOON, is_busy=True)
    assert "authorization" not in asked[0].lower()
    assert "authorization: token a-token" in asked[1].lower()


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b'{"a": 1}', b"[" * 50_000, b"[" + b"1," * 200_000 + b"1]"],
    ids=["empty", "text", "object", "deep", "long"],
)
def test_other_answers_say_nothing(tmp_path: Path, body: bytes) -> None:
    with served(tmp_path / "s", {"/nb/7/api/kernels": body}, []) as server:
        assert server.read_status() is None


def test_a_server_that_hangs_or_is_away_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jupyter_status, "ANSWER_SECONDS", 0.05)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s"))
    listening.listen()
    with listening:
        assert not JupyterServer("/nb/7/", "x", tmp_path / "s").is_ready()
    assert not JupyterServer("/nb/7/", "x", tmp_path / "none").is_ready()


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PIECES = 200
ENDLESS = {
    "continues": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"Content-Length: 2\r\n\r\n{}"),
    "a long body": (OK + b"Content-Length: 202\r\n\r\n{}", b" ", b""),
    "the size of a chunk": (CHUNKED, b"0", b"2\r\n{}\r\n0\r\n\r\n"),
    "small chunks": (CHUNKED + b"2\r\n{}\r\n", b"1\r\n \r\n", b"0\r\n\r\n"),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"a: b\r\n", b"\r\n"),
}
"""How an answer begins, what is sent again and again, and how it would end at last."""


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_server_that_never_comes_to_the_end_of_its_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Each piece is in time and lets the client read on."""
    monkeypatch.setattr(jupyter_status, "ANSWER_SECONDS", 0.1)
    begin, piece, end = ENDLESS[kind]
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s"))
    listening.listen()

    def serve() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(begin)
            for _ in range(PIECES):
                connection.sendall(piece)
                threading.Event().wait(0.01)
            connection.sendall(end)

    server = threading.Thread(target=serve)
    server.start()
    begun = time.monotonic()
    with listening:
        assert not JupyterServer("/nb/7/", "x", tmp_path / "s").is_ready()
    assert time.monotonic() - begun < 1.5
    server.join()


@pytest.mark.parametrize(
    "entry",
    [
        None,
        3,
        {},
        {"last_activity": 3},
        {"last_activity": "2026-11-24T12:00"},
        {"last_activity": "0001-01-01T00:00:00+23:59"},
        {"last_activity": "9999-12-31T23:59:59-23:59"},
    ],
)
def test_what_is_no_moment_is_none(entry: object) -> None:
    assert parse_activity(entry) is None
