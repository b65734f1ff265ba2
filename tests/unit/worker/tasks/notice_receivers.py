"""A mail server and a webhook as they are elsewhere: real ones, which keep what they are told."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.free_ports import free_port

PASSWORD = "canary-of-the-mail-server"


@dataclass
class Postbox:
    """A mail server that keeps what it is given; `refuses` makes it answer so, `refuses_recipient` to one
    address, `leaves` when somebody takes leave."""

    mails: list[EmailMessage] = field(default_factory=list)
    refuses: str = ""
    refuses_recipient: str = ""
    leaves: str = "221 Bye"

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        return self.leaves

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == self.refuses_recipient:
            return "550 no such person"
        envelope.rcpt_tos.append(address)
        return "250 known"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refuses:
            return self.refuses
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"


def knows(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
) -> AuthResult:
    return AuthResult(
        success=data.login == b"groundcrew" and data.password == PASSWORD.encode(), handled=False
    )


@dataclass
class Ear:
    """What called the webhook, and how it answers."""

    calls: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    status: int = 204


@contextmanager
def a_postbox(certificates: Path) -> Iterator[tuple[Postbox, str]]:
    """Takes nothing without STARTTLS and a password; `certificates` has portal.pem and portal.key."""
    box, tls = Postbox(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates / "portal.pem", certificates / "portal.key")
    controller = Controller(
        box, hostname="127.0.0.1", port=free_port(), tls_context=tls, require_starttls=True,
        authenticator=knows, auth_required=True,
    )  # fmt: skip
    controller.start()
    yield box, f"smtp+starttls://groundcrew:{PASSWORD}@127.0.0.1:{controller.port}"
    controller.stop()


@contextmanager
def a_webhook(address: str = "127.0.0.1", port: int = 0) -> Iterator[tuple[Ear, str]]:
    ear = Ear()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            ear.calls.append((dict(self.headers), body))
            self.send_response(ear.status)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer((address, port), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield ear, f"http://{address}:{server.server_port}/in/secret-path"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
