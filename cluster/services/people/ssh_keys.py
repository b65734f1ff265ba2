"""People's public SSH keys. The person adds, lists and removes them; they are invalid while the person is disabled."""

from datetime import datetime

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound, Refused
from cluster.domain.names import check_key_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_scope
from cluster.domain.people.ssh_keys import parse_public_key
from cluster.domain.refusals import Refusals
from cluster.services.context import Cluster
from cluster.services.people.api_tokens import is_live_token
from cluster.store.audit import add_audit_entry
from cluster.store.users import SshKey, load_user

MAX_KEYS = 20


def is_live_key(now: datetime) -> ColumnElement[bool]:
    """Selects keys that are valid: neither the key nor the token that added it was removed."""
    return SshKey.removed_at.is_(None) & (SshKey.token_id.is_(None) | SshKey.token.has(is_live_token(now)))


def add_ssh_key(
    cluster: Cluster, actor: Actor, name: str, text: str, refusals: Refusals | None = None
) -> SshKey:
    """Adds a public key of the actor. A key that an API token adds ends with the token, so that no access outlives it.

    Raises Refused for every field that is wrong.
    """
    require_scope(actor, "write")
    refusals = refusals or Refusals()
    refusals.check(check_key_name, name)
    key = refusals.check(parse_public_key, text)
    refusals.raise_all()
    assert key is not None
    now = cluster.clock()
    with cluster.store.write(lock="ssh keys") as session:
        load_user(session, actor.user_id)
        release_dead_key(session, actor, key.fingerprint, now)
        own = session.scalars(select(SshKey).where(SshKey.user_id == actor.user_id, is_live_key(now))).all()
        same = session.scalar(
            select(SshKey).where(SshKey.fingerprint == key.fingerprint, SshKey.removed_at.is_(None))
        )
        if same is not None and same.user_id == actor.user_id:
            raise Refused("key", "ssh_key.own_twice", name=same.name)
        if same is not None:
            raise Refused("key", "ssh_key.of_another_person")
        if name in [each.name for each in own]:
            raise Refused("name", "ssh_key.name_taken", name=name)
        if len(own) >= MAX_KEYS:
            raise Refused("key", "ssh_key.too_many", most=MAX_KEYS)
        row = SshKey(
            user_id=actor.user_id,
            name=name,
            public_key=key.text,
            fingerprint=key.fingerprint,
            created_at=now,
            token_id=actor.token_id,
        )
        session.add(row)
        session.flush()
        add_audit_entry(
            session,
            now,
            actor,
            "ssh_key.added",
            row.id,
            name=name,
            kind=key.kind,
            fingerprint=key.fingerprint,
        )
    return row


def release_dead_key(session: Session, actor: Actor, fingerprint: str, now: datetime) -> None:
    """Removes a key whose token has ended, so that the same key can be added again."""
    dead = session.scalar(
        select(SshKey).where(
            SshKey.fingerprint == fingerprint, SshKey.removed_at.is_(None), ~is_live_key(now)
        )
    )
    if dead is not None:
        dead.removed_at = now
        add_audit_entry(
            session, now, actor, "ssh_key.removed", dead.id, name=dead.name, cause="token.expired"
        )
        session.flush()


def list_ssh_keys(cluster: Cluster, actor: Actor) -> list[SshKey]:
    """Lists the actor's own valid keys, the newest first, with their tokens loaded."""
    query = (
        select(SshKey)
        .where(SshKey.user_id == actor.user_id, is_live_key(cluster.clock()))
        .options(joinedload(SshKey.token))
        .order_by(SshKey.id.desc())
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def remove_ssh_key(cluster: Cluster, actor: Actor, key_id: int) -> None:
    """Removes one of the actor's own keys; its sessions end within seconds. Raises NotFound."""
    require_scope(actor, "write")
    now = cluster.clock()
    with cluster.store.write() as session:
        key = session.get(SshKey, key_id) if 0 < key_id < 2**31 else None
        if key is None or key.user_id != actor.user_id:
            raise NotFound("ssh_key", key_id)
        if key.removed_at is None:
            key.removed_at = now
            add_audit_entry(
                session, now, actor, "ssh_key.removed", key.id, name=key.name, fingerprint=key.fingerprint
            )
