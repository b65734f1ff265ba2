"""A person stops a sweep before its last job."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, NotFound
from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.sweeps import stops
from cluster.store.audit import AuditEntry
from tests.builders import a_user, actor_of
from tests.store.sweep_setup import Lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster)


def test_a_sweep_is_stopped_by_hand_in_one_entry(lab: Lab) -> None:
    held = lab.hold()
    sweep = lab.submit({"seed": "1..6"})
    place_waiting_jobs(lab.cluster, held)
    with pytest.raises(Forbidden):
        stops.stop_sweep(lab.cluster, actor_of(lab.other), sweep.id)
    with pytest.raises(NotFound):
        stops.stop_sweep(lab.cluster, actor_of(a_user(lab.cluster)), sweep.id)
    assert stops.stop_sweep(lab.cluster, actor_of(lab.manager), sweep.id) == 6
    assert lab.states(sweep) == ["stopping"] * 4 + ["stopped"] * 2
    assert lab.sweep(sweep).stop_data == {"by": lab.manager.name}
    assert lab.jobs(sweep)[5].stopped_by == lab.manager.id
    with lab.cluster.store.read() as session:
        entries = session.scalars(select(AuditEntry.data).where(AuditEntry.action == "sweep.stop_requested"))
        assert entries.all() == [{"jobs": 6}]
    for job in lab.jobs(sweep)[:4]:
        lab.end(held, job, AttemptOutcome(JobState.STOPPED, "exit.stopped", {}))
    with pytest.raises(Conflict):
        stops.stop_sweep(lab.cluster, actor_of(lab.manager), sweep.id)
