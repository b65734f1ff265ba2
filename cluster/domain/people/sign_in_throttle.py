"""Throttle sign-ins after wrong passwords. Tries with one name are refused for a while, and tries from one address are
answered later. Both delays grow, have a maximum and always end.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

WINDOW = timedelta(minutes=15)
"""The time after which tries no longer count. It is also the longest delay."""
FREE_FAILURES_BY_NAME = 5
FREE_FAILURES_BY_ADDRESS = 30
"""Many people of one laboratory share an address, and each of them may mistype a password."""
FIRST_DELAY = timedelta(seconds=30)
FIRST_ADDRESS_DELAY = timedelta(seconds=1)
LONGEST_ADDRESS_DELAY = timedelta(seconds=8)
TRIES_PER_DOUBLING = 10


def throttled_until(
    tries: Sequence[datetime], now: datetime, free: int = FREE_FAILURES_BY_NAME
) -> datetime | None:
    """The moment from which the next try is accepted. None if it is accepted now.

    The last free try starts a delay of 30 s, and each further one doubles it, up to 15 min. The tries of one name
    count, or those of one browser from which that person has signed in before.
    """
    counted = sorted(at for at in tries if now - WINDOW < at <= now)
    over = len(counted) - free
    if over < 0:
        return None
    delay = min(FIRST_DELAY * 2 ** min(over, 10), WINDOW)
    until = counted[-1] + delay
    return until if until > now else None


def address_delay(tries_of_address: Sequence[datetime], now: datetime) -> timedelta:
    """The seconds by which the answer to a try from this address is delayed. A try is never refused for its address
    alone, because people share addresses with each other and, on one machine, with every job.

    The free tries are answered at once. The next ones wait a second, and after each further `TRIES_PER_DOUBLING` tries
    the delay doubles.
    """
    over = sum(now - WINDOW < at <= now for at in tries_of_address) - FREE_FAILURES_BY_ADDRESS
    if over < 0:
        return timedelta(0)
    factor: int = 2 ** min(over // TRIES_PER_DOUBLING, 10)
    return min(FIRST_ADDRESS_DELAY * factor, LONGEST_ADDRESS_DELAY)


def minutes_left(until: datetime, now: datetime) -> int:
    """The minutes until then, rounded up, at least 1."""
    return max(1, -int((now - until).total_seconds() // 60))
