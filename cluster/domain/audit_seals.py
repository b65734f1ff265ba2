"""Seals over the audit: a keyed hash chain that shows whether an entry was edited, removed, added or moved."""

import hashlib
import hmac
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DIGEST_LENGTH = 16
"""Of 64 bits: enough to find the place; the seal over all of them has the whole 256."""

CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
"""Made once, as `EntryDigester` is: a million entries are read each night."""

EntryDigest = tuple[int, str]
"""An entry's id and its digest."""
NO_ENTRY: EntryDigest = (sys.maxsize, "")
"""Behind the last one."""


@dataclass(frozen=True)
class Seal:
    """One link of the chain; `mac` covers its digests and the link before."""

    number: int
    key_id: str
    digests: tuple[EntryDigest, ...]
    previous: str
    mac: str


@dataclass(frozen=True)
class SealViolation:
    """The first place at which the audit is not what was sealed; `code` has words in both languages."""

    code: str
    data: Mapping[str, Any]


def derive_seal_key(secret: str) -> bytes:
    """The seals' own key, so that no other use of the installation's secret can make one."""
    return hmac.new(secret.encode(), b"groundcrew audit seals 1", hashlib.sha256).digest()


def seal_key_id(key: bytes) -> str:
    """Names the key without telling it."""
    return hashlib.sha256(key).hexdigest()[:16]


class EntryDigester:
    """Of many entries by one key, which is prepared once."""

    def __init__(self, key: bytes) -> None:
        self.keyed = hmac.new(key, digestmod=hashlib.sha256)

    def digest_of(self, entry: Mapping[str, Any]) -> str:
        """Of all its columns, times as ISO text in UTC."""
        begun = self.keyed.copy()
        begun.update(canonical_json(entry))
        return begun.hexdigest()[:DIGEST_LENGTH]


def canonical_json(value: Any) -> bytes:
    return CANONICAL.encode(value).encode()


def seal_mac(key: bytes, previous: str, digests: Sequence[EntryDigest]) -> str:
    return hmac.new(key, canonical_json([previous, digests]), hashlib.sha256).hexdigest()


def epoch_mac(key: bytes, said: Mapping[str, Any]) -> str:
    """Without the key, write access to the database is not enough to pass a changed chain off as a restored one."""
    plain = {name: value for name, value in said.items() if name != "mac"}
    return hmac.new(key, b"epoch " + canonical_json(plain), hashlib.sha256).hexdigest()


def check_seal(key: bytes, seal: Seal, before: Seal | None) -> SealViolation | None:
    """The link itself: its own digests and the one before. None where it is whole."""
    if seal.number == next_seal_number(before) and seal.key_id != seal_key_id(key):
        return SealViolation("audit.other_key", {"seal": seal.number})
    wrong = check_seal_link(seal, before)
    if wrong is None and not hmac.compare_digest(seal.mac, seal_mac(key, seal.previous, seal.digests)):
        return SealViolation("audit.seal_broken", {"seal": seal.number})
    return wrong


def check_seal_link(seal: Seal, before: Seal | None) -> SealViolation | None:
    """What can be said without its key: that it follows the one before."""
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
    """`entries` are all that stand between the seal before and the end of this one, by id as the seal's digests are."""
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
