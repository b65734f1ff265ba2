"""A registry and a web server of the internet, as far as a collector asks them: a stand-in on this machine."""

import gzip
import hashlib
import io
import json
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.conftest import IS_CI

OCI = "application/vnd.oci.image"


def sum_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def skopeo_or_skip() -> None:
    if shutil.which("skopeo") is None:
        (pytest.fail if IS_CI else pytest.skip)("there is no skopeo on this machine")


def descriptor(content: bytes, kind: str) -> dict[str, Any]:
    return {"mediaType": f"{OCI}.{kind}", "digest": sum_of(content), "size": len(content)}


def to_manifest(kind: str, **parts: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, "mediaType": f"{OCI}.{kind}.v1+json", **parts}).encode()


@dataclass
class Standin:
    """What it has by path, how often each was asked for, and after how many bytes it breaks off once."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    breaks_off: dict[str, int] = field(default_factory=dict)
    always_breaks_off: int | None = None
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
        told = {"os": "linux", "architecture": "amd64"}
        configuration = json.dumps(
            {**told, "rootfs": {"type": "layers", "diff_ids": [sum_of(packed.getvalue())]}}
        ).encode()
        manifest = to_manifest(
            "manifest",
            config=descriptor(configuration, "config.v1+json"),
            layers=[descriptor(layer, "layer.v1.tar+gzip")],
        )
        other = descriptor(b"arm", "manifest.v1+json") | {
            "platform": {"os": "linux", "architecture": "arm64"}
        }
        ours = descriptor(manifest, "manifest.v1+json") | {"platform": told}
        base = f"/v2/{name}"
        self.files[f"{base}/manifests/{tag}"] = to_manifest("index", manifests=[other, ours])
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
        elif path == "/v2/" and self.headers.get("Authorization"):
            self.answer(200, b"{}")
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
        cut = self.standin.breaks_off.pop(path, self.standin.always_breaks_off)
        kind = json.loads(content)["mediaType"] if "/manifests/" in path else "application/octet-stream"
        self.answer(206 if asked else 200, content[start:], {"Content-Type": kind}, cut)

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
