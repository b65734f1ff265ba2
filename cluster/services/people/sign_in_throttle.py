"""Limits password guessing: every sign-in is recorded as failed before the password is compared, and the record is
deleted if it was right."""

import ipaddress
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.sign_in_throttle import WINDOW, minutes_left, sign_in_throttled_until
from cluster.services.context import Cluster
from cluster.services.people.credentials import keyed_digest
from cluster.store.users import FailedSignIn, SignInSession, User

ADDRESS_KNOWN_FOR = timedelta(days=30)
"""How long an address counts as the person's own after a sign-in from there."""
KEPT_FOR = WINDOW * 4


def record_failed_sign_in(cluster: Cluster, name: str, address: str, field: str) -> tuple[int, bool]:
    """Records a failed sign-in before the password is compared; returns its id, and whether a wrong password now
    starts a lock.

    Raises Refused `sign_in.throttled` with the minutes to wait. Tries from elsewhere do not lock out a
    person at an address from which they have signed in before.
    """
    now = cluster.clock()
    digest, place = keyed_digest(cluster.settings.secret_key, name), network_of(address)
    with cluster.store.write(lock="failed_sign_ins") as session:
        session.execute(delete(FailedSignIn).where(FailedSignIn.at < now - KEPT_FOR))
        by_name, by_address = read_recent_failures(session, name, digest, address, place, now)
        until = sign_in_throttled_until(by_name, by_address, now)
        if until is not None:
            raise Refused(field, "sign_in.throttled", minutes=minutes_left(until, now))
        mine = FailedSignIn(name=digest, address=place, at=now)
        session.add(mine)
        session.flush()
        locks = sign_in_throttled_until([*by_name, now], [*by_address, now], now) is not None
    return mine.id, locks


def read_recent_failures(
    session: Session, name: str, digest: str, address: str, place: str, now: datetime
) -> tuple[list[datetime], list[datetime]]:
    """Of this name and of this address, within the window."""
    recent = select(FailedSignIn.at).where(FailedSignIn.at > now - WINDOW)
    of_name = recent.where(FailedSignIn.name == digest)
    if is_known_address(session, name, address, now):
        of_name = of_name.where(FailedSignIn.address == place)
    of_address = recent.where(FailedSignIn.address == place)
    return list(session.scalars(of_name)), list(session.scalars(of_address))


def is_known_address(session: Session, name: str, address: str, now: datetime) -> bool:
    if not (name.isascii() and name.isprintable()):
        return False
    known = (
        select(SignInSession.id)
        .join(User, User.id == SignInSession.user_id)
        .where(
            User.name == name,
            SignInSession.address == address,
            SignInSession.created_at > now - ADDRESS_KNOWN_FOR,
        )
    )
    return session.scalar(known.limit(1)) is not None


def delete_failed_sign_in(session: Session, try_id: int) -> None:
    """Deletes the record after a correct password."""
    session.execute(delete(FailedSignIn).where(FailedSignIn.id == try_id))


def network_of(address: str) -> str:
    """One IPv6 customer has a whole /64 of addresses to try from."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
