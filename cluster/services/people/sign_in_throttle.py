"""Limits password guessing: every sign-in is recorded as failed before the password is compared, and the record is
deleted if it was right.
"""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.sign_in_throttle import WINDOW, address_delay, minutes_left, throttled_until
from cluster.services.context import Cluster
from cluster.services.people.credentials import keyed_digest
from cluster.services.people.known_browsers import browser_place, is_known_browser
from cluster.services.people.password_slots import SLOW_LANE
from cluster.store.users import FailedSignIn, SignInSession, User, find_user

ADDRESS_KNOWN_FOR = timedelta(days=30)
"""The time for which an address counts as the person's own after a sign-in from there."""
KEPT_FOR = WINDOW * 4


@dataclass(frozen=True)
class SignInTry:
    """A try that may be judged. `delay` is the time by which its answer is delayed. If `locks` is set, a wrong password
    starts a lock.
    """

    id: int
    locks: bool
    delay: timedelta


def record_failed_sign_in(
    cluster: Cluster, name: str, address: str, field: str, browser_token: str = ""
) -> SignInTry:
    """Records a failed sign-in before the password is compared.

    Raises Refused `sign_in.throttled` with the minutes to wait. Tries from elsewhere do not lock out a person in a
    browser or at an address from which they have signed in before.
    """
    now = cluster.clock()
    digest, place = keyed_digest(cluster.settings.secret_key, name), network_of(address)
    with cluster.store.write(lock="failed_sign_ins") as session:
        session.execute(delete(FailedSignIn).where(FailedSignIn.at < now - KEPT_FOR))
        is_known = is_known_browser(cluster, find_user(session, name), browser_token)
        if is_known:
            place = browser_place(browser_token)
        by_name = read_failures_of_name(session, name, digest, address, place, now, is_known)
        until = throttled_until(by_name, now)
        if until is not None:
            raise Refused(field, "sign_in.throttled", minutes=minutes_left(until, now))
        delay = (
            timedelta(0) if is_known else address_delay(read_failures_of_address(session, place, now), now)
        )
        mine = FailedSignIn(name=digest, address=place, at=now)
        session.add(mine)
        session.flush()
        locks = throttled_until([*by_name, now], now) is not None
    return SignInTry(mine.id, locks, delay)


def read_failures_of_name(
    session: Session, name: str, digest: str, address: str, place: str, now: datetime, is_known_browser: bool
) -> list[datetime]:
    """Returns the times of recent failures with this name; in a known browser or at a known address only those there.

    A known address is shared, so what known browsers have failed there does not count for others.
    """
    of_name = select(FailedSignIn.at).where(FailedSignIn.at > now - WINDOW, FailedSignIn.name == digest)
    if is_known_browser or is_known_address(session, name, address, now):
        of_name = of_name.where(FailedSignIn.address == place)
    return list(session.scalars(of_name))


def read_failures_of_address(session: Session, place: str, now: datetime) -> list[datetime]:
    recent = select(FailedSignIn.at).where(FailedSignIn.at > now - WINDOW)
    return list(session.scalars(recent.where(FailedSignIn.address == place)))


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


def hold_back(this_try: SignInTry) -> None:
    """Waits for as long as a try from its address has to, outside of any transaction."""
    SLOW_LANE.hold_back(this_try.delay)


def delete_failed_sign_in(session: Session, try_id: int) -> None:
    """Deletes the record after a correct password."""
    session.execute(delete(FailedSignIn).where(FailedSignIn.id == try_id))


def network_of(address: str) -> str:
    """The network that counts as one address, because one IPv6 customer has a whole /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
