"""The registry's own nginx lets nodes pull, and nobody push but the master."""

import http.client
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import IS_CI
from tests.free_ports import free_port
from tests.unit.roles.rendering import render
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate

HTTP = """daemon off; master_process off; pid {folder}/nginx.pid;
events {{}}
http {{ access_log off;
{temporary}
{server}
}}
"""
MASTER, NODE = "127.0.0.1", "127.0.0.2"
"""Both reach this machine; only the first is the address that the registry answers on."""


class Registry(BaseHTTPRequestHandler):
    def answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    if shutil.which("nginx") is None:
        (pytest.fail if IS_CI else pytest.skip)("nginx is not on this machine")
    ensure_authority(tmp_path, "a test")
    ensure_certificate(tmp_path, [MASTER])
    with ExitStack() as stack:
        behind = ThreadingHTTPServer((MASTER, 0), Registry)
        threading.Thread(target=behind.serve_forever, daemon=True).start()
        stack.callback(behind.server_close)
        stack.callback(behind.shutdown)
        port = free_port()
        server = render(
            "registry",
            "groundcrew-registry.conf",
            groundcrew_registry=f"{MASTER}:{port}",
            registry_inner_port=behind.server_address[1],
            nginx_certificate=str(tmp_path / "portal.pem"),
            nginx_certificate_key=str(tmp_path / "portal.key"),
        )
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "\n".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        (tmp_path / "nginx.conf").write_text(HTTP.format(folder=tmp_path, temporary=temporary, server=server))
        command = ["nginx", "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]
        nginx = stack.enter_context(subprocess.Popen(command))
        stack.callback(nginx.terminate)
        wait_for_port(port, nginx)
        yield port


def wait_for_port(port: int, nginx: "subprocess.Popen[bytes]") -> None:
    while True:
        assert nginx.poll() is None
        try:
            socket.create_connection((MASTER, port), timeout=10).close()
        except ConnectionRefusedError:
            continue
        return


def status_of(port: int, method: str, source: str, authority: Path) -> int:
    trust = ssl.create_default_context(cafile=str(authority))
    connection = http.client.HTTPSConnection(
        MASTER, port, source_address=(source, 0), context=trust, timeout=30
    )
    with closing(connection):
        connection.request(method, "/v2/groundcrew/blobs/uploads/", body=b"" if method != "GET" else None)
        return connection.getresponse().status


def test_only_the_master_pushes(port: int, tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
    assert [status_of(port, method, MASTER, authority) for method in methods] == [200] * 6
    assert [status_of(port, method, NODE, authority) for method in methods] == [200] * 2 + [403] * 4
