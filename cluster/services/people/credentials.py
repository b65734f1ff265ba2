"""Makes, hashes and compares passwords and one-time secrets, without the database."""

import functools
import hashlib
import hmac
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

# OWASP's second choice of equal strength: little memory, so that many may sign in at once (ASVS 11.4.2).
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
LONGEST_TRIED = 1024
"""Characters of a password that is worth comparing; a longer one is wrong."""

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no letter that looks like a digit."""
GROUPS, GROUP_LENGTH = 4, 4
LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1"})


def hash_password(password: str) -> str:
    return HASHER.hash(password)


@functools.cache
def dummy_hash() -> str:
    """Compared with where there is no password, so that the answer takes as long as for a real one."""
    return HASHER.hash(secrets.token_urlsafe(32))


def is_password(password_hash: str | None, password: str) -> bool:
    """Takes the same time for users without a password and for names that nobody has."""
    stand_in = dummy_hash()
    tried = password.encode("utf-8", "surrogatepass")[:LONGEST_TRIED]
    try:
        HASHER.verify(password_hash or stand_in, tried)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None and len(password) <= LONGEST_TRIED


def needs_rehash(password_hash: str) -> bool:
    """Made with other parameters than today's: hashed again at the next sign-in."""
    return HASHER.check_needs_rehash(password_hash)


def new_secret() -> str:
    """256 bits, for cookies, links and tokens."""
    return secrets.token_urlsafe(32)


def new_readable_secret() -> str:
    """80 bits that can be typed from one screen into another: `7K2M-Q9XD-04TV-HB3R`."""
    text = "".join(secrets.choice(LETTERS) for _ in range(GROUPS * GROUP_LENGTH))
    return "-".join(text[start : start + GROUP_LENGTH] for start in range(0, len(text), GROUP_LENGTH))


def parse_readable_secret(text: str) -> str:
    """As it was printed, however it was typed: small letters, no hyphens, O for 0."""
    kept = [c for c in text.upper().translate(LOOKALIKES) if c in LETTERS][: GROUPS * GROUP_LENGTH + 1]
    whole = "".join(kept)
    return "-".join(whole[start : start + GROUP_LENGTH] for start in range(0, len(whole), GROUP_LENGTH))


def secret_digest(secret: str) -> str:
    """SHA-256 in hex; enough for secrets that nobody can guess."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def keyed_digest(key: str, text: str) -> str:
    """For what people type and others could guess: only with the installation's key."""
    return hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def is_same_digest(one: str, other: str) -> bool:
    return hmac.compare_digest(one, other)
