"""A person's streams take that person's places alone, and each of them is given back."""

from flask import Flask

from cluster.services.context import Cluster
from portal.live.stream_slots import MAX_STREAMS_PER_PERSON
from tests.builders import a_user
from tests.pages.portal.stream_lab import browser, opened, taken


def test_a_hundred_streams_of_one_person_leave_the_others_theirs(app: Flask, light_cluster: Cluster) -> None:
    greedy, other = a_user(light_cluster), a_user(light_cluster)
    clients = [browser(app, greedy) for _ in range(20)]
    answers = [opened(client) for client in clients for _ in range(5)]
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (
        MAX_STREAMS_PER_PERSON,
        100 - MAX_STREAMS_PER_PERSON,
    )
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.headers["Retry-After"] == "30"
    assert refused.text.startswith(f"You have {MAX_STREAMS_PER_PERSON} live pages open")
    heard = opened(browser(app, other))
    assert heard.status_code == 200
    for answer in [*answers, heard]:
        answer.close()
    assert taken(app) == 0


def test_a_stream_that_nobody_reads_gives_its_place_back(app: Flask, light_cluster: Cluster) -> None:
    """The client was gone before its answer began."""
    user = a_user(light_cluster)
    for _ in range(3 * MAX_STREAMS_PER_PERSON):
        answer = opened(browser(app, user))
        assert answer.status_code == 200
        answer.close()
    assert taken(app) == 0
