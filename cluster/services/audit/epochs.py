"""A restore begins a new epoch of the audit: the entry that begins it holds a digest of everything sealed before.

The key of the old epoch's seals may be lost. The entry that begins the new epoch contains a digest of everything that
was sealed before, signed by today's key. A change in the old epoch is therefore found, but not its place.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.domain.audit_seals import (
    Seal,
    SealViolation,
    canonical_json,
    check_seal_link,
    epoch_mac,
    seal_key_id,
)
from cluster.services.audit.entry_rows import BEFORE_ALL, read_entry_rows
from cluster.services.context import Cluster

EPOCH_ACTION = "audit.epoch"


@dataclass(frozen=True)
class AuditEpoch:
    """The epoch that begins with the entry `entry`. `seal` is the last one before it, which ends with `last`.

    `superseded_places` are places with seals that were made after the backup and that the restore removed.
    """

    number: int
    entry: int
    at: datetime
    is_signed_by_our_key: bool
    """Whether the epoch's entry is signed by today's key."""
    seal: int
    last: int
    digest: str
    made_at: datetime
    superseded_places: frozenset[str]


def read_epochs(cluster: Cluster, key: bytes) -> list[AuditEpoch]:
    """The epochs in their order, without the first one, which no entry begins.

    They are signed by this key, or by an older one if a later epoch's digest includes them.
    """
    with cluster.store.read_columns() as connection:
        entries = list(read_entry_rows(connection, BEFORE_ALL, condition=f" AND action = '{EPOCH_ACTION}'"))
    epochs: list[AuditEpoch] = []
    for entry in reversed(entries):
        data = entry["data"]
        if not isinstance(data, dict):
            continue
        is_ours = hmac.compare_digest(str(data.get("mac")).encode(), epoch_mac(key, data).encode())
        if is_ours or (epochs and entry["id"] <= epochs[0].last):
            epoch = parse_epoch(entry, is_ours)
            if epoch is not None:
                epochs.insert(0, epoch)
    return epochs


def parse_epoch(entry: Mapping[str, Any], is_ours: bool) -> AuditEpoch | None:
    """Returns None if no restore has written the entry: every service may add one with that action."""
    data = entry["data"]
    try:
        return AuditEpoch(
            number=int(data["epoch"]),
            entry=entry["id"],
            at=datetime.fromisoformat(entry["at"]),
            is_signed_by_our_key=is_ours,
            seal=int(data["seal"]),
            last=int(data["last"]),
            digest=str(data["digest"]),
            made_at=datetime.fromisoformat(data["made_at"]),
            superseded_places=frozenset(data["left"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


class OldEpochChecker:
    """Checks the seals of earlier epochs, given in order with their entries, against the digests that the later epochs
    recorded.
    """

    def __init__(self, epochs: Iterable[AuditEpoch], key: bytes) -> None:
        self.epochs = list(epochs)
        self.own_key = seal_key_id(key)
        self.running = hashlib.sha256()
        self.last = max((epoch.seal for epoch in self.epochs), default=0)
        self.last_vouched_seal = max(
            (epoch.seal for epoch in self.epochs if epoch.is_signed_by_our_key), default=0
        )

    def is_old(self, seal: Seal) -> bool:
        """Whether the seal is of an earlier epoch, so that only the digest of that epoch can prove it."""
        return seal.key_id != self.own_key and seal.number <= self.last_vouched_seal

    def check(
        self, seal: Seal, before: Seal | None, entries: Iterable[Mapping[str, Any]]
    ) -> SealViolation | None:
        if seal.number > self.last:
            return None
        update_digest(self.running, seal, entries)
        wrong = check_seal_link(seal, before)
        if wrong is not None:
            return wrong
        for epoch in self.epochs:
            if epoch.seal == seal.number and epoch.digest != self.running.hexdigest():
                return SealViolation("audit.epoch_changed", {"epoch": epoch.number, "seal": seal.number})
        return None

    def explains_missing(self, where: str, made_at: datetime | None) -> bool:
        """Returns whether a restore explains that this recorded seal is missing."""
        for epoch in self.epochs:
            if where in epoch.superseded_places or (
                made_at is not None and epoch.made_at < made_at < epoch.at
            ):
                return True
        return False


def update_digest(running: "hashlib._Hash", seal: Seal, entries: Iterable[Mapping[str, Any]]) -> None:
    running.update(canonical_json([seal.number, seal.key_id, seal.digests, seal.previous, seal.mac]))
    for entry in entries:
        running.update(canonical_json(entry))
