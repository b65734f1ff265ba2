"""A registry and a web server of the internet, as far as a collector asks them: a stand-in on this machine."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def sum_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Standin:
    """What it has by path, how often each was asked for, and after how many bytes it breaks off once."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    breaks_off: dict[str, int] = field(default_factory=dict)
    refuses_once: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)
    """Where it sends those on who ask for a path."""
    tokens: list[str | None] = field(default_factory=list)
    """What came with each question."""
    address: str = ""

    def add_image(self, name: str, tag: str, program: bytes) -> str:
        """One layer with one program, behind a list of platforms; the digest of ours."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            info = tarfile.TarInfo("pause")
            info.size = len(program)
            tar.addfile(info, io.BytesIO(program))
        layer = gzip.compress(packed.getvalue(), mtime=0)
        configuration = json.dumps({"rootfs": {"diff_ids": [sum_of(packed.getvalue())]}}).encode()
        kind = "application/vnd.oci.image.layer.v1.tar+gzip"
        manifest = json.dumps(
            {
                "config": {"digest": sum_of(configuration)},
                "layers": [{"digest": sum_of(layer), "mediaType": kind}],
            }
        ).encode()
        other = {"digest": sum_of(b"arm"), "platform": {"os": "linux", "architecture": "arm64"}}
        ours = {"digest": sum_of(manifest), "platform": {"os": "linux", "architecture": "amd64"}}
        base = f"/v2/{name}"
        self.files[f"{base}/manifests/{tag}"] = json.dumps({"manifests": [other, ours]}).encode()
        self.files[f"{base}/manifests/{sum_of(manifest)}"] = manifest
        self.files[f"{base}/blobs/{sum_of(configuration)}"] = configuration
        self.files[f"{base}/blobs/{sum_of(layer)}"] = layer
        return sum_of(manifest)

    def layer_of(self, name: str) -> str:
        """The path of the largest blob of an image."""
        blobs = [path for path in self.files if path.startswith(f"/v2/{name}/blobs/")]
        return max(blobs, key=lambda path: len(self.files[path]))


class Answers(BaseHTTPRequestHandler):
    standin: Standin

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.standin.asked.append(path)
        self.standin.tokens.append(self.headers.get("Authorization"))
        if path == "/token":
            self.answer(200, json.dumps({"token": "for-anybody"}).encode())
        elif path in self.standin.refuses_once:
            self.standin.refuses_once.remove(path)
            self.answer(503, b"")
        elif path.startswith("/v2/") and self.headers.get("Authorization") != "Bearer for-anybody":
            realm = f'Bearer realm="{self.standin.address}/token",service="here",scope="pull"'
            self.answer(401, b"", {"WWW-Authenticate": realm})
        elif path in self.standin.moved:
            self.answer(307, b"", {"Location": self.standin.moved[path]})
        elif path not in self.standin.files:
            self.answer(404, b"")
        else:
            self.give(path, self.standin.files[path])

    def give(self, path: str, content: bytes) -> None:
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        cut = self.standin.breaks_off.pop(path, None)
        self.answer(206 if asked else 200, content[start:], cut=cut)

    def answer(
        self, code: int, content: bytes, headers: dict[str, str] | None = None, cut: int | None = None
    ) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content if cut is None else content[:cut])

    def log_message(self, *words: Any) -> None: ...


@contextmanager
def a_standin() -> Iterator[Standin]:
    standin = Standin()
    handler = type("Handler", (Answers,), {"standin": standin})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        standin.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield standin
        finally:
            server.shutdown()
            thread.join()
