"""Sends one mail through the mail server of the settings."""

import smtplib
import ssl
from contextlib import closing, suppress
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from cluster.domain.errors import Unavailable

TIMEOUT_SECONDS = 20.0
"""Seconds for each answer of the server."""
PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


class MailAddressRefused(Unavailable):
    """The server works and refuses the recipient, as for a mistyped address."""


def write_mail(sender: str, receiver: str, subject: str, text: str, number: str) -> EmailMessage:
    """`number` makes the message id, so that a mail that arrives twice can be recognised. Raises ValueError for a
    line break.
    """
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, receiver, subject
    mail["Message-ID"] = f"<{number}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(text)
    return mail


def send_mail(url: str, mail: EmailMessage) -> None:
    """Raises Unavailable with the server's error, without the password; MailAddressRefused for this recipient alone."""
    parts = urlsplit(url)
    password = unquote(parts.password or "")
    try:
        with closing(connect_mail_server(url)) as server:
            if parts.scheme == "smtp+starttls":
                server.starttls(context=ssl.create_default_context())
            if parts.username:
                server.login(unquote(parts.username), password)
            server.send_message(mail)
            with suppress(OSError, smtplib.SMTPException):
                # The server has accepted the mail. An error in its answer to QUIT must not cause a second delivery.
                server.quit()
    except smtplib.SMTPRecipientsRefused as error:
        code, answer = next(iter(error.recipients.values()))
        failure = MailAddressRefused if code >= 500 else Unavailable
        raise failure("mail.not_sent", error=f"{code} {answer.decode(errors='replace')}"[:300]) from error
    except (OSError, smtplib.SMTPException) as error:
        said = f"{type(error).__name__}: {error}"
        raise Unavailable("mail.not_sent", error=hide_secret(said, password)[:300]) from error
    except ValueError as error:
        # The error of a host or password that is not ASCII may quote it.
        raise Unavailable("mail.not_sent", error=type(error).__name__) from error


def connect_mail_server(url: str) -> smtplib.SMTP:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    if parts.scheme == "smtps":
        return smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())
    return smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)


def hide_secret(text: str, secret: str) -> str:
    return text.replace(secret, "(secret)") if secret else text
