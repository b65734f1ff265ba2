"""A portal as far as somebody asks whether it is healthy."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cluster.settings import Settings


@contextmanager
def answering(settings: Settings, status: int, body: bytes) -> Iterator[Settings]:
    """The settings of a portal that answers /health so, by TLS where they name a folder of certificates."""

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None: ...

    with ThreadingHTTPServer((settings.host, 0), Health) as server:
        if settings.tls_dir is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(settings.tls_dir / "portal.pem", settings.tls_dir / "portal.key")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield replace(settings, port=server.server_port)
        server.shutdown()
        thread.join()
