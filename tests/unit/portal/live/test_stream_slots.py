"""A person has so many places, and each is given back whatever ends its stream."""

from contextlib import ExitStack, suppress

import pytest

from portal.live.stream_slots import MAX_STREAMS, MAX_STREAMS_PER_PERSON, StreamSlots, TooManyStreams
from worker.embedded.nginx import CONNECTIONS


def test_a_place_is_given_back_whatever_ends_the_stream() -> None:
    slots = StreamSlots()
    with suppress(RuntimeError), slots.hold_slot(1):
        raise RuntimeError
    with ExitStack() as held:
        for _ in range(MAX_STREAMS_PER_PERSON):
            held.enter_context(slots.hold_slot(1))
        with pytest.raises(TooManyStreams, match=r"stream\.too_many"), slots.hold_slot(1):
            pass
        with slots.hold_slot(2):
            assert slots.used_by_person == {1: MAX_STREAMS_PER_PERSON, 2: 1}
    assert slots.used_by_person == {}


def test_all_together_leave_nginx_half_of_its_connections() -> None:
    assert 2 * MAX_STREAMS <= CONNECTIONS / 2
