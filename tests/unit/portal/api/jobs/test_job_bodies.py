"""The body of a submission, and the states of a list."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.states import JobState, Launcher
from portal.api.jobs.job_bodies import parse_job_body, parse_states

BODY = {
    "name": "digits",
    "units": 2,
    "launcher": None,
    "command": ["train.py", "--lr", "0.1"],
    "variables": {"epochs": "2"},
    "dataset_id": 3,
    "priority": 1,
    "time_limit_seconds": 60,
    "grace_seconds": 30,
    "retries": 1,
    "memory_bytes": None,
    "code_version": 4,
    "environment_id": 7,
}


def test_every_field_of_the_body_is_in_the_request() -> None:
    request = parse_job_body(BODY)
    assert (request.name, request.units, request.command) == ("digits", 2, ("train.py", "--lr", "0.1"))
    assert (request.variables, request.dataset_id, request.priority) == ({"epochs": "2"}, 3, 1)
    assert (request.time_limit_seconds, request.grace_seconds, request.retries) == (60, 30, 1)
    assert (request.code_version, request.environment_id) == (4, 7)


def test_a_launcher_that_is_named_counts() -> None:
    assert parse_job_body(BODY | {"launcher": Launcher.TORCHRUN}).launcher is Launcher.TORCHRUN


@pytest.mark.parametrize(
    ("text", "states"),
    [
        (None, []),
        ("", []),
        ("running", [JobState.RUNNING]),
        (" failed, stopped,", [JobState.FAILED, JobState.STOPPED]),
    ],
)
def test_states_are_words_with_commas(text: str | None, states: list[JobState]) -> None:
    assert parse_states(text) == states


def test_an_unknown_state_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Refused) as refusal:
        parse_states("running,asleep")
    assert refusal.value.data["state"] == "asleep"
    assert "running" in refusal.value.data["states"]
