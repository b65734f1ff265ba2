"""The lease of a scheduler on a cluster whose environment is ready; a job, and a line of jobs, as they stand."""

from datetime import timedelta

import pytest

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.states import EnvironmentState, JobState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.queue import queries
from cluster.services.queue.queries import QueueFilters
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Job
from tests.builders import actor_of, add, an_administrator

LASTS = timedelta(seconds=10)
FINISHED = AttemptOutcome(JobState.FINISHED, "exit.finished", {"exit_code": 0}, 0)


@pytest.fixture
def held(cluster: Cluster) -> HeldLease:
    add(
        cluster,
        Environment(name="default", digest="d", state=EnvironmentState.READY, created_at=cluster.clock()),
    )
    add(cluster, InstallationFact(name="default_environment", value={"digest": "d"}))
    held = acquire_lease(cluster, "scheduler", "one", LASTS)
    assert held
    return held


def job_of(cluster: Cluster, job: Job) -> Job:
    with cluster.store.read() as session:
        return session.get_one(Job, job.id)


def line(cluster: Cluster, workspace_id: int) -> list[int]:
    """Ids of a workspace's waiting jobs, page by page."""
    person, found = actor_of(an_administrator(cluster)), []
    wanted = QueueFilters(workspace_id=workspace_id, limit=2)
    while True:
        view = queries.read_queue(cluster, person, wanted)
        found += [row.id for row in view.waiting]
        if view.next_after is None:
            return found
        wanted = QueueFilters(workspace_id=workspace_id, limit=2, after=view.next_after)
