"""The door to Kubernetes without Kubernetes: files that are none, and answers that something else gives."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from worker.kubernetes.api_client import ApiConflict, ApiUnreachable, KubernetesApi, ObjectExists, api_error


def connection(port: int) -> dict[str, Any]:
    return {
        "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"half a wor",
        b"- a\n- b\n",
        b"clusters: [{name",
        b"\xff\xfe\x00",
        yaml.safe_dump(connection(1) | {"users": [{"name": "me", "user": "root"}]}).encode(),
        yaml.safe_dump(connection(1) | {"users": [{"name": "me", "user": {"token": "a\nHost: b"}}]}).encode(),
        yaml.safe_dump(connection(1) | {"clusters": None}).encode(),
    ],
)
def test_a_connection_file_that_is_none_is_silence(tmp_path: Path, content: bytes) -> None:
    """As it may stand there for a moment while it is written, or after a disk was full."""
    file = tmp_path / "scheduler.conf"
    file.write_bytes(content)
    with pytest.raises(ApiUnreachable) as silence:
        KubernetesApi(file).list_all("Pod")
    assert silence.value.data == {"kubeconfig": str(file)}


@contextmanager
def answering(tmp_path: Path, content: str) -> Iterator[KubernetesApi]:
    """Somebody who says the same to everything."""

    class Anybody(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    file = tmp_path / "scheduler.conf"
    with HTTPServer(("127.0.0.1", 0), Anybody) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        file.write_text(yaml.safe_dump(connection(server.server_port)))
        api = KubernetesApi(file)
        try:
            yield api
        finally:
            api.close()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "content", ["<html>Please log in</html>", "{}", "[]", "null", '{"items": []}', '{"kind": "Status"}']
)
def test_from_an_answer_that_is_no_list_nobody_reads_that_there_is_nothing(
    tmp_path: Path, content: str
) -> None:
    with answering(tmp_path, content) as api, pytest.raises(ApiUnreachable):
        api.list_all("Pod")


def test_a_proxy_of_the_machine_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    told = {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": None}
    with answering(tmp_path, json.dumps(told)) as api:
        assert api.list_all("Pod").things == []


@pytest.mark.parametrize(
    ("reason", "is_taken"), [("AlreadyExists", True), ("Conflict", False), ("", False), (None, False)]
)
def test_only_what_is_there_already_is_taken_for_it(reason: str | None, is_taken: bool) -> None:
    """A quota that was being counted refuses with the same number, and then there is nothing."""
    conflict = api_error(409, {"reason": reason, "message": "…"})
    assert isinstance(conflict, ApiConflict) and isinstance(conflict, ObjectExists) is is_taken
