"""Equal alerts are one message, and the pauses between two tries grow."""

from dataclasses import replace

from cluster.domain.alerts import (
    Alert,
    AlertTopic,
    AlertUrgency,
    delivery_retry_delay,
)


def test_the_same_thing_with_other_numbers_is_the_same() -> None:
    one = Alert(AlertUrgency.CAUTION, AlertTopic.NODE, "attention.disk_full", 7, {"share": 0.91})
    assert one.key == replace(one, data={"share": 0.99}).key != replace(one, subject=8).key


def test_pauses_grow_to_an_hour() -> None:
    assert [delivery_retry_delay(tries).total_seconds() / 60 for tries in (1, 2, 3, 4, 50)] == [
        1,
        5,
        15,
        60,
        60,
    ]
