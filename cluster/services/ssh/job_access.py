"""Decide whether a key opens a running job: only its submitter may enter, and only while they may see the job.

Nobody else may, because a session runs as that person's unix user, which sees all of their jobs in the workspace.
"""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import joinedload

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.ssh_keys import parse_public_key
from cluster.domain.states import AttemptState, JobState, UserState
from cluster.services.context import Cluster
from cluster.services.people.ssh_keys import is_live_key
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from cluster.store.sql.visibility import can_see_job
from cluster.store.users import SshKey, User

ENDED = frozenset({JobState.FINISHED, JobState.FAILED, JobState.STOPPED})


@dataclass(frozen=True)
class SshEntry:
    """The right of one key to enter one job."""

    job_id: int
    key_id: int
    key_name: str
    fingerprint: str
    public_key: str
    user_id: int
    user_name: str
    language: str | None

    def actor(self, address: str) -> Actor:
        return Actor(self.user_id, self.user_name, address=address)


@dataclass(frozen=True)
class EnterableAttempt:
    """The attempt that a session joins."""

    job_id: int
    attempt: int
    folder: Path


def find_entry(cluster: Cluster, job_id: int, fingerprint: str) -> SshEntry | None:
    """The right of the key with this fingerprint; None if it has none. The job's state is not checked here."""
    return find_right(cluster, job_id, SshKey.fingerprint == fingerprint)


def renew_entry(cluster: Cluster, entry: SshEntry) -> SshEntry | None:
    """Returns the right as it is now; None if key, person, membership or training no longer give it."""
    return find_right(cluster, entry.job_id, SshKey.id == entry.key_id)


def find_right(cluster: Cluster, job_id: int, which: ColumnElement[bool]) -> SshEntry | None:
    with cluster.store.read() as session:
        found = session.execute(
            select(SshKey, User)
            .join(User, User.id == SshKey.user_id)
            .where(which, is_live_key(cluster.clock()), User.state == UserState.ACTIVE)
        ).first()
        if found is None:
            return None
        key, user = found
        actor = Actor(user.id, user.name, user.is_administrator)
        job = session.scalar(
            select(Job.id).where(Job.id == job_id, Job.user_id == user.id, can_see_job(actor, True))
        )
        public_key = checked_key(key)
        if job is None or public_key is None:
            return None
        return SshEntry(
            job_id=job,
            key_id=key.id,
            key_name=key.name,
            fingerprint=key.fingerprint,
            public_key=public_key,
            user_id=user.id,
            user_name=user.name,
            language=user.language,
        )


def checked_key(key: SshKey) -> str | None:
    """The key in one line, made from its decoded bytes. None for a row that no form wrote, because sshd would accept a
    second line.
    """
    try:
        parsed = parse_public_key(key.public_key)
    except Refused:
        return None
    return parsed.text if parsed.fingerprint == key.fingerprint else None


def list_public_keys(cluster: Cluster, user_id: int) -> list[str]:
    """All keys with which the person may sign in to an sshd inside a job."""
    query = select(SshKey).where(SshKey.user_id == user_id, is_live_key(cluster.clock()))
    with cluster.store.read() as session:
        return [text for key in session.scalars(query) if (text := checked_key(key)) is not None]


def find_enterable_attempt(cluster: Cluster, job_id: int) -> EnterableAttempt:
    """Raises Refused, which says why nobody can enter the job now."""
    with cluster.store.read() as session:
        job = session.get_one(Job, job_id, options=[joinedload(Job.workspace)])
        if job.state in ENDED:
            raise Refused("job", "ssh.has_ended", job=job_id)
        if job.state is JobState.WAITING:
            raise Refused("job", "ssh.waits", job=job_id)
        attempt = session.scalar(
            select(Attempt.number).where(
                Attempt.job_id == job_id, Attempt.ended_at.is_(None), Attempt.state == AttemptState.RUNNING
            )
        )
        if attempt is None:
            raise Refused("job", "ssh.not_ready", job=job_id)
        folder = folders.attempt_folder(cluster.settings, job.workspace_id, job.id, attempt)
        return EnterableAttempt(job.id, attempt, folder)


def newest_job_id(cluster: Cluster) -> int:
    """The largest job number; 0 if there is no job yet."""
    with cluster.store.read() as session:
        return session.scalar(select(Job.id).order_by(Job.id.desc()).limit(1)) or 0
