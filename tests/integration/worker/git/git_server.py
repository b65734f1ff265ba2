"""A git server with TLS on the loopback device: good repositories by git's own http-backend, and hostile answers."""

import base64
import ipaddress
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "a/token@with:signs-9zQ"
AUTHOR = {
    "GIT_AUTHOR_NAME": "Kim Minji",
    "GIT_AUTHOR_EMAIL": "minji@lab.example",
    "GIT_COMMITTER_NAME": "Kim Minji",
    "GIT_COMMITTER_EMAIL": "minji@lab.example",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PATH": "/usr/bin:/bin",
}


def run_git(folder: Path, *arguments: str, given: bytes = b"") -> str:
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env=AUTHOR,
        input=given,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


@dataclass
class Origin:
    """A repository on the server, with a work tree in which tests commit."""

    path: Path

    def commit(self, files: dict[str, bytes], subject: str = "Change it") -> str:
        for name, content in files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        run_git(self.path, "add", "--all", "--force")
        run_git(self.path, "commit", "--quiet", "--allow-empty", "-m", subject)
        return run_git(self.path, "rev-parse", "HEAD")

    def commit_tree(self, tree: bytes, subject: str = "Trouble") -> str:
        """A commit of a tree that git itself would not make."""
        made = run_git(self.path, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", given=tree)
        commit = run_git(self.path, "commit-tree", made, "-m", subject)
        run_git(self.path, "update-ref", "refs/heads/main", commit)
        return commit

    def blob(self, content: bytes) -> str:
        return run_git(self.path, "hash-object", "-w", "--stdin", given=content)


@dataclass
class GitServer:
    """`secrets_seen` are places of /proc where a request found the token."""

    root: Path
    authority: Path
    port: int = 0
    requests: list[str] = field(default_factory=list)
    secrets_seen: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, name: str) -> str:
        return f"https://{self.host}/{name}"

    def make_origin(self, name: str) -> Origin:
        path = self.root / name
        path.mkdir()
        run_git(path, "init", "--quiet")
        return Origin(path)

    def look_for_secrets(self) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    content = (process / name).read_bytes()
                except OSError:
                    continue
                if TOKEN.encode() in content and process.name != str(os.getpid()):
                    self.secrets_seen.append(f"{process.name}/{name}")


class GitHandler(BaseHTTPRequestHandler):
    """The first part of the path is the repository; its name says how the server behaves."""

    server_of_tests: GitServer
    protocol_version = "HTTP/1.0"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.answer(self.read_chunks())
        else:
            self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def read_chunks(self) -> bytes:
        content = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        return content

    def answer(self, body: bytes) -> None:
        server = self.server_of_tests
        server.requests.append(self.path)
        name = self.path.split("/")[1]
        if name.startswith("private"):
            server.look_for_secrets()
            wanted = base64.b64encode(f"git:{TOKEN}".encode()).decode()
            if self.headers.get("Authorization") != f"Basic {wanted}":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
        if name.startswith("redirect"):
            self.send_response(302)
            self.send_header("Location", (server.root / "location").read_text())
            self.end_headers()
        elif name.startswith("slow"):
            self.drip()
        elif name.startswith("endless"):
            self.send_endless_refs()
        elif name.startswith("missing"):
            self.send_error(404)
        else:
            self.run_backend(body)

    def drip(self) -> None:
        """A byte at a time, without end."""
        self.begin()
        try:
            while not self.server_of_tests.ended.wait(0.05):
                self.wfile.write(b"0")
                self.wfile.flush()
        except OSError:
            pass

    def send_endless_refs(self) -> None:
        self.begin()
        try:
            self.wfile.write(b"001e# service=git-upload-pack\n0000")
            number = 0
            while not self.server_of_tests.ended.is_set():
                number += 1
                line = f"{'a' * 40} refs/heads/{number:012d}\n"
                self.wfile.write(f"{len(line) + 4:04x}{line}".encode())
        except OSError:
            pass

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.end_headers()

    def run_backend(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        variables = AUTHOR | {
            "GIT_PROJECT_ROOT": str(self.server_of_tests.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "http-backend"],
            env=variables,
            input=body,
            capture_output=True,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """Certificate and key for 127.0.0.1; the certificate is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "server.pem", folder / "server.key"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, private


@contextmanager
def serve_git(folder: Path) -> Iterator[GitServer]:
    pem, private = write_certificate(folder)
    root = folder / "repositories"
    root.mkdir()
    for place in (folder, pem):  # git runs as a user without rights and reads the authority.
        place.chmod(0o755 if place.is_dir() else 0o644)
    server = GitServer(root, pem)
    handler = type("Handler", (GitHandler,), {"server_of_tests": server})
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    web.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, private)
    web.socket = context.wrap_socket(web.socket, server_side=True)
    server.port = web.server_address[1]
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        web.shutdown()
        thread.join(10)
        web.server_close()
