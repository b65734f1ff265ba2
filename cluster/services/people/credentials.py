"""Makes, hashes and compares passwords and one-time secrets, without the database."""

import base64
import functools
import hashlib
import hmac
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from cluster.services.people.password_slots import HASHING

# OWASP lists these parameters among equivalent ones; they need little memory, so that many people can sign in at once
# (ASVS 11.4.2).
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
LONGEST_TRIED = 1024
"""Characters. A longer password is wrong without a comparison."""

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32, which has no letters that look like digits."""
GROUPS, GROUP_LENGTH = 4, 4
LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1"})


def hash_password(password: str) -> str:
    with HASHING:
        return HASHER.hash(password)


@functools.cache
def dummy_hash() -> str:
    """The hash that is compared if a user has no password, so that the answer takes equally long."""
    return HASHER.hash(secrets.token_urlsafe(32))


def is_password(password_hash: str | None, password: str) -> bool:
    """Whether the password is right. It takes equally long for users without a password and for unknown names."""
    stand_in = dummy_hash()
    tried = password.encode("utf-8", "surrogatepass")[:LONGEST_TRIED]
    try:
        with HASHING:
            HASHER.verify(password_hash or stand_in, tried)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None and len(password) <= LONGEST_TRIED


def needs_rehash(password_hash: str) -> bool:
    """Whether the hash has other parameters than today's. It is then replaced at the next sign-in."""
    return HASHER.check_needs_rehash(password_hash)


def new_secret() -> str:
    """A secret of 256 bits for cookies, links and tokens."""
    return secrets.token_urlsafe(32)


def derived_secret(key: str, nonce: str) -> str:
    """Derives a secret from a nonce and the installation's key. The nonce alone does not reveal it."""
    digest = hmac.new(key.encode(), b"link\0" + nonce.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def new_readable_secret() -> str:
    """A secret of 80 bits that can be typed from one screen into another: `7K2M-Q9XD-04TV-HB3R`."""
    text = "".join(secrets.choice(LETTERS) for _ in range(GROUPS * GROUP_LENGTH))
    return "-".join(text[start : start + GROUP_LENGTH] for start in range(0, len(text), GROUP_LENGTH))


def parse_readable_secret(text: str) -> str:
    """Returns the secret as it was printed, from typed text: small letters, missing hyphens, O for 0."""
    kept = [c for c in text.upper().translate(LOOKALIKES) if c in LETTERS][: GROUPS * GROUP_LENGTH + 1]
    whole = "".join(kept)
    return "-".join(whole[start : start + GROUP_LENGTH] for start in range(0, len(whole), GROUP_LENGTH))


def secret_digest(secret: str) -> str:
    """SHA-256 in hex, which is enough for secrets that nobody can guess."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def keyed_digest(key: str, text: str) -> str:
    """A digest with the installation's key, for text that others could guess."""
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def is_same_digest(one: str, other: str) -> bool:
    return hmac.compare_digest(one, other)
