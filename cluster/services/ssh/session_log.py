"""Writes each SSH session into the access log: who, with which key, from where, its beginning and its end."""

from sqlalchemy import update

from cluster.domain.ssh_logins import SshSessionKind
from cluster.services.context import Cluster
from cluster.services.ssh.job_access import SshEntry
from cluster.store.audit import add_audit_entry
from cluster.store.users import SshKey


def record_session_start(cluster: Cluster, entry: SshEntry, address: str, kind: SshSessionKind) -> None:
    now = cluster.clock()
    with cluster.store.write() as session:
        session.execute(update(SshKey).where(SshKey.id == entry.key_id).values(used_at=now))
        add_audit_entry(
            session,
            now,
            entry.actor(address),
            "ssh.entered",
            entry.job_id,
            object_kind="job",
            key=entry.key_name,
            fingerprint=entry.fingerprint,
            kind=kind.value,
        )


def record_session_end(
    cluster: Cluster, entry: SshEntry, address: str, kind: SshSessionKind, seconds: float, cause: str
) -> None:
    """`cause` is `left`, `revoked`, or the code with which the session was refused."""
    now = cluster.clock()
    with cluster.store.write() as session:
        add_audit_entry(
            session,
            now,
            entry.actor(address),
            "ssh.left",
            entry.job_id,
            object_kind="job",
            key=entry.key_name,
            fingerprint=entry.fingerprint,
            kind=kind.value,
            seconds=round(seconds, 1),
            cause=cause,
        )
