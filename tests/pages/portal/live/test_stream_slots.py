"""All streams together have fewer slots than the portal has threads."""

from contextlib import ExitStack, suppress

import pytest
from flask import Flask

from cluster.services.context import Cluster
from portal.live.stream_slots import MAX_STREAMS, MAX_STREAMS_PER_PERSON, StreamSlots, TooManyStreams
from portal.shared_objects import shared_object
from tests.builders import a_user
from tests.pages.portal.stream_lab import browser, opened


def test_all_places_together_are_fewer_than_threads(app: Flask, light_cluster: Cluster) -> None:
    slots = shared_object(StreamSlots, app)
    slots.used_by_person.update(
        {-person: MAX_STREAMS_PER_PERSON for person in range(1, 1 + MAX_STREAMS // MAX_STREAMS_PER_PERSON)}
    )
    slots.used_by_person[-999] = MAX_STREAMS % MAX_STREAMS_PER_PERSON
    answer = opened(browser(app, a_user(light_cluster)))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
    assert "All places for live pages are taken" in answer.text


def test_a_place_is_given_back_whatever_ends_the_stream() -> None:
    slots = StreamSlots()
    with suppress(RuntimeError), slots.hold_slot(1):
        raise RuntimeError
    with ExitStack() as held:
        for _ in range(MAX_STREAMS_PER_PERSON):
            held.enter_context(slots.hold_slot(1))
        with pytest.raises(TooManyStreams, match=r"stream\.too_many"), slots.hold_slot(1):
            pass
        assert slots.used_by_person == {1: MAX_STREAMS_PER_PERSON}
    assert slots.used_by_person == {}
