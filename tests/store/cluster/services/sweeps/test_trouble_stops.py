"""A sweep that stops on trouble does so once a job crashes or its loss is no number any more."""

import pytest

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.sweeps import trouble_stops
from tests.store.sweep_setup import Lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster)


CRASH = AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1)


def test_the_first_crash_stops_the_rest_where_that_was_wanted(lab: Lab) -> None:
    held = lab.hold()
    sweep = lab.submit({"seed": "1..6"}, stop_on_trouble=True)
    calm = lab.submit({"seed": "1..2"})
    place_waiting_jobs(lab.cluster, held)
    made = lab.jobs(sweep)
    lab.end(held, made[1], CRASH)
    assert (lab.sweep(sweep).stop_code, lab.sweep(sweep).stop_data) == ("sweep.crash", {"job_id": made[1].id})
    assert trouble_stops.stop_marked_sweeps(lab.cluster, held) == 5
    assert lab.states(sweep) == ["stopping", "failed", "stopping", "stopping", "stopped", "stopped"]
    assert trouble_stops.stop_marked_sweeps(lab.cluster, held) == 0
    stopped = lab.jobs(sweep)[4]
    assert (stopped.end_code, stopped.ended_at) == ("exit.stopped_with_sweep", lab.cluster.clock())
    assert stopped.end_data == {"sweep_id": sweep.id, "cause": "sweep.crash", "job_id": made[1].id}
    assert stopped.waiting_code is None and stopped.waiting_data is None
    assert lab.codes(stopped)[-1] == "exit.stopped_with_sweep"
    assert lab.codes(made[0])[-1] == "job.stopped_with_sweep"
    assert lab.states(calm) == ["waiting", "waiting"]


def test_a_sweep_goes_on_after_a_crash_unless_it_was_told_otherwise(lab: Lab) -> None:
    held = lab.hold()
    sweep = lab.submit({"seed": "1..6"})
    place_waiting_jobs(lab.cluster, held)
    lab.end(held, lab.jobs(sweep)[0], CRASH)
    assert trouble_stops.stop_marked_sweeps(lab.cluster, held) == 0
    assert lab.sweep(sweep).stopped_at is None


def test_a_loss_that_became_nan_stops_the_sweep_while_its_job_still_runs(lab: Lab) -> None:
    held = lab.hold()
    sweep = lab.submit({"seed": "1..6"}, stop_on_trouble=True)
    lab.submit({"seed": "1..2"})
    place_waiting_jobs(lab.cluster, held)
    watched = trouble_stops.list_loss_watches(lab.cluster)
    assert [one.job_id for one in watched] == [job.id for job in lab.jobs(sweep)[:4]]
    assert trouble_stops.record_nan_loss(lab.cluster, held, watched[2].job_id)
    assert not trouble_stops.record_nan_loss(lab.cluster, held, watched[1].job_id)
    assert lab.sweep(sweep).stop_data == {"job_id": watched[2].job_id}
    assert trouble_stops.stop_marked_sweeps(lab.cluster, held) == 6
    assert trouble_stops.list_loss_watches(lab.cluster) == []
