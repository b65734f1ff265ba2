"""Where a backup was put back the audit begins a new epoch: what was before is written down by its digest.

The seals of the old epoch may be of a key that is gone. The entry that begins the new one has the digest of all that
was sealed before, signed by the key of today: a change in the old epoch shows, though not its place.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from cluster.domain.audit import Found, Seal, canonical, check_seal_alone, key_id_of, sign_epoch
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry

ACTION = "audit.epoch"


@dataclass(frozen=True)
class Epoch:
    """Begun by the entry `entry`; `seal` is the last one before, which ends with the entry `last`.

    `left` are places whose seals were of a life that the restore has left.
    """

    number: int
    entry: int
    at: datetime
    is_ours: bool
    """Signed by the key of today."""
    seal: int
    last: int
    digest: str
    made_at: datetime
    left: frozenset[str]


def read_epochs(cluster: Cluster, key: bytes) -> list[Epoch]:
    """In their order; the first one, which nothing began, is not among them.

    Signed by this key, or by an older one where a later epoch speaks for it.
    """
    query = select(AuditEntry).where(AuditEntry.action == ACTION).order_by(AuditEntry.id.desc())
    with cluster.store.read() as session:
        found = session.scalars(query).all()
    epochs: list[Epoch] = []
    for entry in found:
        is_ours = hmac.compare_digest(str(entry.data.get("mac")), sign_epoch(key, entry.data))
        if is_ours or (epochs and entry.id <= epochs[0].last):
            epochs.insert(0, parse_epoch(entry, is_ours))
    return epochs


def parse_epoch(entry: AuditEntry, is_ours: bool) -> Epoch:
    data = entry.data
    return Epoch(
        number=data["epoch"],
        entry=entry.id,
        at=entry.at,
        is_ours=is_ours,
        seal=data["seal"],
        last=data["last"],
        digest=data["digest"],
        made_at=datetime.fromisoformat(data["made_at"]),
        left=frozenset(data["left"]),
    )


class OldEpochs:
    """Told of every seal with its entries, in their order; says where the old epochs are not what was written down."""

    def __init__(self, epochs: Iterable[Epoch], key: bytes) -> None:
        self.epochs = list(epochs)
        self.own_key = key_id_of(key)
        self.running = hashlib.sha256()
        self.last = max((epoch.seal for epoch in self.epochs), default=0)
        self.spoken_for = max((epoch.seal for epoch in self.epochs if epoch.is_ours), default=0)

    def is_old(self, seal: Seal) -> bool:
        """Whether it cannot be checked by itself, and its epoch's digest has to."""
        return seal.key_id != self.own_key and seal.number <= self.spoken_for

    def hear(self, seal: Seal, before: Seal | None, entries: Iterable[Mapping[str, Any]]) -> Found | None:
        if seal.number > self.last:
            return None
        add_to(self.running, seal, entries)
        wrong = check_seal_alone(seal, before)
        if wrong is not None:
            return wrong
        for epoch in self.epochs:
            if epoch.seal == seal.number and epoch.digest != self.running.hexdigest():
                return Found("audit.epoch_changed", {"epoch": epoch.number, "seal": seal.number})
        return None

    def excuses(self, where: str, made_at: datetime | None) -> bool:
        """Whether a seal that was written down there belongs to a life that a restore has left."""
        for epoch in self.epochs:
            if where in epoch.left or (made_at is not None and epoch.made_at < made_at < epoch.at):
                return True
        return False


def add_to(running: "hashlib._Hash", seal: Seal, entries: Iterable[Mapping[str, Any]]) -> None:
    running.update(canonical([seal.number, seal.key_id, seal.lines, seal.previous, seal.mac]))
    for entry in entries:
        running.update(canonical(entry))
