"""Records in the audit that somebody asked for an id that is not there for them.

Ids that nobody has and ids of others are answered and recorded alike, so that neither answer nor time tells them apart.
"""

from datetime import timedelta

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry, add_audit_entry
from cluster.store.base import LARGEST_ID

ACTION = "object.not_found"
RECORDED_EVERY = timedelta(minutes=1)
"""The interval per person, so that somebody who tries a thousand ids does not fill the audit."""


def record_unseen_thing(cluster: Cluster, actor: Actor, kind: str, identity: int) -> None:
    now = cluster.clock()
    recent = select(AuditEntry.id).where(
        AuditEntry.actor_name == actor.name, AuditEntry.action == ACTION, AuditEntry.at > now - RECORDED_EVERY
    )
    with cluster.store.read() as session:
        if session.scalar(recent.order_by(AuditEntry.id.desc()).limit(1)) is not None:
            return
    with cluster.store.write() as session:
        number = identity if 0 < identity <= LARGEST_ID else None
        add_audit_entry(session, now, actor, ACTION, number, outcome="refused", object_kind=kind[:30])
