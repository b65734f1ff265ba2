"""Decides in how many messages a person is told of the events that wait: at most ten an hour, then one digest."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

MOST_PER_HOUR = 10
HOUR = timedelta(hours=1)
MOST_IN_DIGEST = 50
"""A digest names so many events and counts the others."""

Event = TypeVar("Event")


def plan_messages(
    events: Sequence[Event], sent_at: Sequence[datetime], now: datetime, have_waited: bool = False
) -> list[list[Event]]:
    """The events of each message, in their order. Empty: they wait until one of the ten is an hour old.

    Each event is a message of its own while there are enough left in this hour; else the last one left is a digest.
    `have_waited`: some of the events waited for the hour to end, and one digest has them all.
    """
    left = free_messages(sent_at, now)
    if left == 0 or not events:
        return []
    if have_waited:
        return [list(events)]
    alone = len(events) if len(events) <= left else left - 1
    messages = [[event] for event in events[:alone]]
    digest = list(events[alone:])
    return [*messages, digest] if digest else messages


def free_messages(sent_at: Sequence[datetime], now: datetime) -> int:
    """The number of messages that the person may still get. `sent_at` are the times of the last ones."""
    return max(0, MOST_PER_HOUR - sum(now - at < HOUR for at in sent_at))
