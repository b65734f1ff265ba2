"""Lets a browser into a notebook: by a ticket that works once, then by a cookie of the notebook's own address.

Only the person whose job the notebook is may enter: what runs there runs as that person.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, or_, select, update

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobKind, JobState, UserRole, UserState
from cluster.services.context import Cluster
from cluster.services.notebooks.notebook_rows import read_notebook
from cluster.services.people import credentials, sessions
from cluster.services.storage.notebook_folders import socket_path
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, Notebook, NotebookEntry
from cluster.store.sql.visibility import can_see_job
from cluster.store.users import SignInSession, User

TICKET_LASTS = timedelta(seconds=60)
ENTRIES_KEPT_FOR = timedelta(days=7)
"""An entry lasts at most as long as a portal session may last."""


@dataclass(frozen=True)
class NotebookUpstream:
    """The address to which nginx sends the requests of one notebook, and the token that it adds."""

    address: str
    """The value of nginx's `proxy_pass`."""
    token: str


def issue_ticket(cluster: Cluster, actor: Actor, job_id: int, session_token: str) -> str:
    """Raises NotFound for the notebook of somebody else too, and Conflict while it is not ready."""
    state = read_notebook(cluster, actor, job_id)
    if state.job.user_id != actor.user_id:
        raise NotFound("notebook", job_id)
    if not state.is_ready:
        raise Conflict("notebook.not_ready", id=job_id)
    now, ticket = cluster.clock(), credentials.new_secret()
    with cluster.store.write() as session:
        session.execute(delete(NotebookEntry).where(NotebookEntry.created_at < now - ENTRIES_KEPT_FOR))
        session.add(
            NotebookEntry(
                job_id=job_id,
                user_id=actor.user_id,
                session_hash=credentials.secret_digest(session_token),
                ticket_hash=credentials.secret_digest(ticket),
                ticket_expires_at=now + TICKET_LASTS,
                created_at=now,
            )
        )
        add_audit_entry(session, now, actor, "notebook.opened", job_id)
    return ticket


def redeem_ticket(cluster: Cluster, job_id: int, ticket: str) -> str | None:
    """Returns the value of the cookie; None for a ticket that is unknown, used, too old, or of another notebook."""
    now, cookie = cluster.clock(), credentials.new_secret()
    redeemed = (
        update(NotebookEntry)
        .where(
            NotebookEntry.job_id == job_id,
            NotebookEntry.ticket_hash == credentials.secret_digest(ticket),
            NotebookEntry.ticket_expires_at > now,
        )
        .values(ticket_hash=None, cookie_hash=credentials.secret_digest(cookie))
        .returning(NotebookEntry.id)
        .execution_options(synchronize_session=False)
    )
    with cluster.store.write() as session:
        found = session.scalar(redeemed)
    return None if found is None else cookie


def find_upstream(cluster: Cluster, job_id: int, cookie: str) -> NotebookUpstream | None:
    """Returns None unless the cookie is this notebook's, its portal session has not ended, and the notebook runs."""
    query = entry_query(cluster.clock(), job_id, cookie)
    with cluster.store.read_columns() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    token, address, fence = row
    if address is not None:
        return NotebookUpstream(f"http://{address}", token)
    return NotebookUpstream(f"http://unix:{socket_path(cluster.settings, job_id, fence)}:", token)


def entry_query(now: datetime, job_id: int, cookie: str) -> Select[str, str | None, int]:
    """Selects the entry. A person who may not see the training any more can no longer enter either."""
    person: Any = NotebookEntry.user_id
    return (
        select(Notebook.token, Notebook.address, Job.fence)
        .join(Job, Job.id == Notebook.job_id)
        .join(NotebookEntry, NotebookEntry.job_id == Job.id)
        .join(SignInSession, SignInSession.token_hash == NotebookEntry.session_hash)
        .join(User, User.id == NotebookEntry.user_id)
        .where(
            Job.id == job_id,
            Job.kind == JobKind.NOTEBOOK,
            Job.state == JobState.RUNNING,
            Job.user_id == NotebookEntry.user_id,
            Notebook.ready_attempt == Job.fence,
            NotebookEntry.cookie_hash == credentials.secret_digest(cookie),
            SignInSession.user_id == NotebookEntry.user_id,
            User.state == UserState.ACTIVE,
            or_(User.role == UserRole.ADMINISTRATOR, can_see_job(Actor(person, "", is_administrator=False))),
            *sessions.is_live_session(now),
        )
    )
