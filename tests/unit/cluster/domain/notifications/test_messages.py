"""At most ten messages within any hour, and nothing is lost."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.notifications.messages import HOUR, MOST_PER_HOUR, plan_messages

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("events", "sent", "sizes"),
    [
        (0, 0, []),
        (1, 0, [1]),
        (3, 0, [1, 1, 1]),
        (10, 0, [1] * 10),
        (11, 0, [1] * 9 + [2]),
        (500, 0, [1] * 9 + [491]),
        (1, 9, [1]),
        (2, 9, [2]),
        (1, 10, []),
        (500, 10, []),
        (1, 12, []),
    ],
)
def test_the_last_message_of_an_hour_is_a_digest_of_the_rest(
    events: int, sent: int, sizes: list[int]
) -> None:
    waiting = list(range(events))
    messages = plan_messages(waiting, [NOW - timedelta(minutes=5)] * sent, NOW)
    assert [len(message) for message in messages] == sizes
    assert [event for message in messages for event in message] == (waiting if sizes else [])


def test_what_had_to_wait_comes_as_one_digest() -> None:
    assert plan_messages(["a", "b", "c"], [], NOW, have_waited=True) == [["a", "b", "c"]]
    assert plan_messages(["a"], [NOW] * MOST_PER_HOUR, NOW, have_waited=True) == []


def test_a_message_that_is_an_hour_old_counts_no_more() -> None:
    full = [NOW - HOUR + timedelta(seconds=1)] * MOST_PER_HOUR
    assert plan_messages(["event"], full, NOW) == []
    assert plan_messages(["event", "other"], [NOW - HOUR, *full[1:]], NOW) == [["event", "other"]]


@pytest.mark.parametrize("events_per_minute", [1, 2, 7, 40])
def test_no_hour_has_more_than_ten_messages_however_many_events_there_are(events_per_minute: int) -> None:
    waiting: list[int] = []
    sent: list[datetime] = []
    told: list[int] = []
    held: set[int] = set()
    for minute in range(300):
        now = NOW + timedelta(minutes=minute)
        if minute < 180:
            waiting += range(minute * events_per_minute, (minute + 1) * events_per_minute)
        have_waited = bool(waiting) and waiting[0] in held
        for message in plan_messages(waiting, sent, now, have_waited):
            told += message
            waiting = waiting[len(message) :]
            sent.append(now)
        held.update(waiting)
        assert sum(now - at < HOUR for at in sent) <= MOST_PER_HOUR
    assert told == list(range(180 * events_per_minute))
