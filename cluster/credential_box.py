"""Seal tokens and keys of people before they are stored, so that a copy of the database alone reveals none."""

import base64
import hashlib
import hmac
import os

from cluster.domain.errors import Unavailable

NONCE_BYTES = 12
SHORTEST_SEALED = NONCE_BYTES + 16


class CredentialBox:
    """Encrypts by AES-256-GCM with a key that is derived from the installation's secret and used for this alone."""

    def __init__(self, secret: str) -> None:
        # Slow to import, and pages that show no credential do without it.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.cipher = AESGCM(hmac.new(secret.encode(), b"groundcrew credentials 1", hashlib.sha256).digest())

    def seal(self, text: str, purpose: str) -> str:
        """`purpose` names the row. The sealed text can be opened for the same purpose only."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = nonce + self.cipher.encrypt(nonce, text.encode(), purpose.encode())
        return base64.b64encode(sealed).decode()

    def open(self, sealed: str, purpose: str) -> str:
        """Raises Unavailable if it was sealed by another installation or for another row."""
        from cryptography.exceptions import InvalidTag

        try:
            content = base64.b64decode(sealed, validate=True)
            if len(content) < SHORTEST_SEALED:
                raise ValueError
            nonce, kept = content[:NONCE_BYTES], content[NONCE_BYTES:]
            return self.cipher.decrypt(nonce, kept, purpose.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise Unavailable("git.credential_unreadable") from error
