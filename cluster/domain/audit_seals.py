"""Seals over the audit are a keyed hash chain that shows whether an entry was edited, removed, added or moved."""

import hashlib
import hmac
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DIGEST_LENGTH = 16
"""The digest of one entry has 64 bits, which are enough to find the place. The seal over all of them has 256 bits."""

CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
"""The encoder is made once, like `EntryDigester`, because a million entries are read each night."""

EntryDigest = tuple[int, str]
"""The id of an entry and its digest."""
NO_ENTRY: EntryDigest = (sys.maxsize, "")
"""A digest that comes after all others."""


@dataclass(frozen=True)
class Seal:
    """One link of the chain. `mac` covers its digests and the link before."""

    number: int
    key_id: str
    digests: tuple[EntryDigest, ...]
    previous: str
    mac: str


@dataclass(frozen=True)
class SealViolation:
    """The first place at which the audit differs from what was sealed. `code` has words in both languages."""

    code: str
    data: Mapping[str, Any]


def derive_seal_key(secret: str) -> bytes:
    """Derives a key that is used for seals only, so that no other use of the installation's
    secret can make a seal.
    """
    return hmac.new(secret.encode(), b"groundcrew audit seals 1", hashlib.sha256).digest()


def seal_key_id(key: bytes) -> str:
    """An id that identifies the key without revealing it."""
    return hashlib.sha256(key).hexdigest()[:16]


class EntryDigester:
    """Digests entries with one key, which is prepared once."""

    def __init__(self, key: bytes) -> None:
        self.keyed = hmac.new(key, digestmod=hashlib.sha256)

    def digest_of(self, entry: Mapping[str, Any]) -> str:
        """The digest of all columns of the entry. Times are ISO texts in UTC."""
        begun = self.keyed.copy()
        begun.update(canonical_json(entry))
        return begun.hexdigest()[:DIGEST_LENGTH]


def canonical_json(value: Any) -> bytes:
    return CANONICAL.encode(value).encode(errors="surrogatepass")


def seal_mac(key: bytes, previous: str, digests: Sequence[EntryDigest]) -> str:
    return hmac.new(key, canonical_json([previous, digests]), hashlib.sha256).hexdigest()


def epoch_mac(key: bytes, said: Mapping[str, Any]) -> str:
    """The mac of an epoch. Without the key, nobody with write access can pass a changed chain
    off as a restored one.
    """
    plain = {name: value for name, value in said.items() if name != "mac"}
    return hmac.new(key, b"epoch " + canonical_json(plain), hashlib.sha256).hexdigest()


def check_seal(key: bytes, seal: Seal, before: Seal | None) -> SealViolation | None:
    """Checks the link: its own digests and the link before. None if it is valid."""
    if seal.number == next_seal_number(before) and seal.key_id != seal_key_id(key):
        return SealViolation("audit.other_key", {"seal": seal.number})
    wrong = check_seal_link(seal, before)
    if wrong is None and not hmac.compare_digest(seal.mac, seal_mac(key, seal.previous, seal.digests)):
        return SealViolation("audit.seal_broken", {"seal": seal.number})
    return wrong


def check_seal_link(seal: Seal, before: Seal | None) -> SealViolation | None:
    """Checks without the key that the link follows the one before."""
    if seal.number != next_seal_number(before):
        return SealViolation("audit.seal_missing", {"seal": next_seal_number(before)})
    if seal.previous != (before.mac if before else ""):
        return SealViolation("audit.seal_broken", {"seal": seal.number})
    return None


def next_seal_number(before: Seal | None) -> int:
    return before.number + 1 if before else 1


def check_entries(
    digester: EntryDigester, seal: Seal, entries: Iterable[Mapping[str, Any]]
) -> SealViolation | None:
    """`entries` are all entries between the end of the seal before and the end of this one. They and the digests are
    sorted by id.
    """
    sealed = iter(seal.digests)
    for entry in entries:
        number, digest = next(sealed, NO_ENTRY)
        if number != entry["id"]:
            is_missing = number < entry["id"]
            code = "audit.entry_missing" if is_missing else "audit.entry_added"
            return SealViolation(code, {"entry": number if is_missing else entry["id"]})
        if not hmac.compare_digest(digest, digester.digest_of(entry)):
            return SealViolation("audit.entry_edited", {"entry": number, "at": entry["at"]})
    left = next(sealed, None)
    return SealViolation("audit.entry_missing", {"entry": left[0]}) if left else None
