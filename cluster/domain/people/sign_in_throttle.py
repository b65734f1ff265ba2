"""Throttle sign-ins after wrong passwords: the delay grows, has a maximum and always ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta

WINDOW = timedelta(minutes=15)
"""Older tries are forgotten; also the longest lock."""
FREE_FAILURES_BY_NAME = 5
FREE_FAILURES_BY_ADDRESS = 30
"""Many people of one laboratory share an address, and each of them may mistype a password."""
FIRST_DELAY = timedelta(seconds=30)


def throttled_until(
    tries: Sequence[datetime], now: datetime, free: int = FREE_FAILURES_BY_NAME
) -> datetime | None:
    """The moment from which the next try counts again; None where it does now.

    The last free try starts a delay of 30 s, each further one doubles it, up to 15 min.
    """
    counted = sorted(at for at in tries if now - WINDOW < at <= now)
    over = len(counted) - free
    if over < 0:
        return None
    delay = min(FIRST_DELAY * 2 ** min(over, 10), WINDOW)
    until = counted[-1] + delay
    return until if until > now else None


def sign_in_throttled_until(
    tries_of_name: Sequence[datetime], tries_of_address: Sequence[datetime], now: datetime
) -> datetime | None:
    """The later end of two delays.

    One is for a name that is tried from many addresses, one for an address that tries many names.
    """
    locks = (
        throttled_until(tries_of_name, now, FREE_FAILURES_BY_NAME),
        throttled_until(tries_of_address, now, FREE_FAILURES_BY_ADDRESS),
    )
    return max((lock for lock in locks if lock), default=None)


def minutes_left(until: datetime, now: datetime) -> int:
    """Whole minutes, rounded up, at least 1."""
    return max(1, -int((now - until).total_seconds() // 60))
