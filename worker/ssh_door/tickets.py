"""Tickets by which the program that sshd starts for an authenticated key enters one job."""

import hashlib
import hmac
import secrets

from cluster.services.ssh.job_access import SshEntry


class TicketOffice:
    """Makes the tickets in the answers to sshd. Only a client with an authenticated key gets one. Tickets end with this
    process.
    """

    def __init__(self) -> None:
        self.secret = secrets.token_bytes(32)

    def ticket_of(self, entry: SshEntry) -> str:
        return self.sign(f"{entry.job_id}.{entry.key_id}.{entry.fingerprint.partition(':')[2]}")

    def sign(self, text: str) -> str:
        return f"{text}.{hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()}"

    def read(self, ticket: str) -> tuple[int, str] | None:
        """Returns (job, fingerprint) of one of our tickets."""
        text = ticket.rpartition(".")[0]
        if not text or not hmac.compare_digest(self.sign(text).encode(), ticket.encode()):
            return None
        job, _, fingerprint = text.split(".", 2)
        return int(job), f"SHA256:{fingerprint}"
