"""Creates the first administrator by a secret that the terminal shows once."""

from datetime import timedelta
from typing import NoReturn

from cluster.domain.errors import Refused
from cluster.domain.names import check_user_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.passwords import check_password
from cluster.domain.refusals import Refusals
from cluster.domain.states import UserRole
from cluster.services.context import Cluster
from cluster.services.people import credentials
from cluster.services.people.passwords import USERS_LOCK
from cluster.services.people.users import add_user_row, service_actor
from cluster.store.audit import add_audit_entry
from cluster.store.users import (
    FIRST_ADMINISTRATOR,
    User,
    add_one_time_secret,
    find_usable_secret,
    has_administrator,
)

FIRST_SECRET_TERM = timedelta(hours=24)


def issue_first_administrator_secret(cluster: Cluster) -> str | None:
    """A secret for the page of the first administrator, valid for 24 h. None if there is an administrator.

    It replaces an earlier one that was not used.
    """
    now, actor = cluster.clock(), service_actor(cluster)
    secret = credentials.new_readable_secret()
    with cluster.store.write(lock=USERS_LOCK) as session:
        if has_administrator(session):
            return None
        add_one_time_secret(
            session, FIRST_ADMINISTRATOR, None, credentials.secret_digest(secret), now, FIRST_SECRET_TERM
        )
        add_audit_entry(session, now, actor, "user.first_secret_issued", None)
    return secret


def needs_first_administrator(cluster: Cluster) -> bool:
    """True until the first-administrator page has been used."""
    with cluster.store.read() as session:
        return not has_administrator(session)


def create_first_administrator(
    cluster: Cluster, secret: str, name: str, password: str, address: str, request_id: str = ""
) -> User:
    """Creates the first administrator. Raises Refused for a wrong, used or expired secret, a bad name or password."""
    now, refusals = cluster.clock(), Refusals()
    secret_hash = credentials.secret_digest(credentials.parse_readable_secret(secret))
    with cluster.store.read() as session:
        is_usable = find_usable_secret(session, FIRST_ADMINISTRATOR, secret_hash, now) is not None
    if not is_usable:
        refusals.check(refuse_secret, cluster, address, request_id)
    refusals.check(check_user_name, name)
    refusals.check(check_password, password, name, cluster.settings.password_policy)
    refusals.raise_all()
    password_hash = credentials.hash_password(password)
    with cluster.store.write(lock=USERS_LOCK) as session:
        row = find_usable_secret(session, FIRST_ADMINISTRATOR, secret_hash, now)
        if row is None or has_administrator(session):
            raise Refused("secret", "first.secret_wrong")
        row.used_at = now
        user = User(
            name=name,
            role=UserRole.ADMINISTRATOR,
            password_hash=password_hash,
            created_at=now,
            password_changed_at=now,
        )
        add_user_row(session, user)
        actor = Actor(user.id, name, True, address, request_id)
        add_audit_entry(session, now, actor, "user.first_administrator_created", user.id, name=name)
    cluster.events.publish("users", user.id)
    return user


def refuse_secret(cluster: Cluster, address: str, request_id: str) -> NoReturn:
    """Records that somebody typed a secret that does not fit. The typed text is recorded nowhere."""
    actor = Actor(0, "", address=address, request_id=request_id)
    with cluster.store.write() as session:
        add_audit_entry(session, cluster.clock(), actor, "user.first_secret_refused", None, outcome="refused")
    raise Refused("secret", "first.secret_wrong")
