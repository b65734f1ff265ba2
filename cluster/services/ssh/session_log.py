"""Writes each SSH session into the access log: who, with which key, from where, its beginning and its end."""

from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from cluster.domain.ssh_logins import SshSessionKind
from cluster.services.context import Cluster
from cluster.services.ssh.job_access import SshEntry
from cluster.store.audit import add_audit_entry
from cluster.store.users import SshKey


def record_session_start(cluster: Cluster, entry: SshEntry, address: str, kind: SshSessionKind) -> None:
    with cluster.store.write() as session:
        used = update(SshKey).where(SshKey.id == entry.key_id).values(used_at=cluster.clock())
        session.execute(used)
        add_session_entry(session, cluster, "ssh.entered", entry, address, kind)


def record_session_end(
    cluster: Cluster, entry: SshEntry, address: str, kind: SshSessionKind, seconds: float, cause: str
) -> None:
    """`cause` is `left`, `revoked`, or the code with which the session was refused."""
    with cluster.store.write() as session:
        about = {"seconds": round(seconds, 1), "cause": cause}
        add_session_entry(session, cluster, "ssh.left", entry, address, kind, **about)


def add_session_entry(
    session: Session,
    cluster: Cluster,
    action: str,
    entry: SshEntry,
    address: str,
    kind: SshSessionKind,
    **about: Any,
) -> None:
    add_audit_entry(
        session,
        cluster.clock(),
        entry.actor(address),
        action,
        entry.job_id,
        object_kind="job",
        key=entry.key_name,
        fingerprint=entry.fingerprint,
        kind=kind.value,
        **about,
    )
