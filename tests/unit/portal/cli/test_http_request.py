"""Requests of the command, against a socket that answers what a case says."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from portal.cli.http_request import Response, send_request

Ask = Callable[..., tuple[Response, str]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Sends one request to a server that gives one answer; returns both as they were received."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run(answer: bytes, method: str = "GET", **options: object) -> tuple[Response, str]:
        received = bytearray()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                while b"\r\n\r\n" not in received:
                    received.extend(connection.recv(65536))
                head, _, body = bytes(received).partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                while len(body) < length:
                    piece = connection.recv(65536)
                    received.extend(piece)
                    body += piece
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/jobs"
        try:
            return send_request(method, url, {"Accept-Language": "ko"}, **options), received.decode()  # type: ignore[arg-type]
        finally:
            thread.join(10)

    yield run
    listener.close()


def test_query_and_headers_reach_the_server(ask: Ask) -> None:
    response, request = ask(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", query={"mine": "true", "name": "학습 1"}
    )
    assert request.startswith("GET /api/v1/jobs?mine=true&name=%ED%95%99%EC%8A%B5+1 HTTP/1.1\r\n")
    assert "Accept-Language: ko\r\n" in request
    assert (response.status, response.json()) == (200, {})


def test_a_body_is_sent_as_json(ask: Ask) -> None:
    answer = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
    response, request = ask(answer, "POST", query={}, body={"name": "학습"})
    assert "Content-Type: application/json\r\n" in request
    assert request.endswith('\r\n\r\n{"name": "학습"}')
    assert response.status == 201


def test_a_redirect_is_not_followed(ask: Ask) -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    assert ask(moved, query={})[0].status == 302


@pytest.mark.parametrize("url", ["", "ftp://lab/jobs", "lab.example/jobs", "http:///jobs"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConnectionError, match="is no http"):
        send_request("GET", url, {}, {})


def test_nobody_who_answers_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        send_request("GET", f"http://127.0.0.1:{port}/", {}, {})
