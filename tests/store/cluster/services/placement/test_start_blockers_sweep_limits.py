"""A sweep runs as many jobs at once as it allows."""

import pytest

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import submission as jobs
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.store.sweep_setup import Lab

WELL = AttemptOutcome(JobState.FINISHED, "exit.finished", {"exit_code": 0}, 0)


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster)


def test_no_more_run_at_once_than_the_sweep_allows(lab: Lab) -> None:
    held = lab.hold()
    sweep = lab.submit({"seed": "1..5"}, most_at_once=2)
    alone = jobs.submit_job(lab.cluster, actor_of(lab.member), lab.training.id, lab.request().job)
    assert len(place_waiting_jobs(lab.cluster, held)) == 3
    assert lab.states(sweep) == ["starting", "starting", "waiting", "waiting", "waiting"]
    waiting = lab.jobs(sweep)[2]
    assert (waiting.waiting_code, (waiting.waiting_data or {})["most"]) == ("waiting.sweep_limit", 2)
    with lab.cluster.store.read() as session:
        assert session.get_one(Job, alone.id).state is JobState.STARTING
    assert place_waiting_jobs(lab.cluster, held) == []
    lab.end(held, lab.jobs(sweep)[0], WELL)
    assert len(place_waiting_jobs(lab.cluster, held)) == 1
    assert lab.states(sweep) == ["finished", "starting", "starting", "waiting", "waiting"]
