"""Why a job that has units has not begun, as Kubernetes said it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import selectinload

from cluster.domain.jobs.attempts import GIVE_UP_PENDING_AFTER
from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.start_delays import StartDelay, read_start_delay
from cluster.services.kubernetes.status import record_kubernetes_status
from cluster.services.leases import HeldLease, acquire_lease
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, a_training, a_workspace, holding


@pytest.fixture
def held(cluster: Cluster) -> HeldLease:
    lease = acquire_lease(cluster, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    return lease


def starting(cluster: Cluster, nodes: int = 1, state: JobState = JobState.STARTING) -> Job:
    training = a_training(cluster, a_workspace(cluster, units=4))
    job = a_job(cluster, training, units=nodes, state=state)
    holding(cluster, job, [a_node(cluster, units=1).units[0] for _ in range(nodes)])
    with cluster.store.read() as session:
        units = selectinload(Job.attempts).selectinload(Attempt.allocations).joinedload(Allocation.unit)
        return session.get_one(Job, job.id, options=[units])


REFUSED: dict[str, Any] = {"why": {"code": "kubernetes.image_pull", "data": {"image": "x"}}}


def test_while_kubernetes_does_not_answer_nothing_is_given_up(cluster: Cluster, held: HeldLease) -> None:
    job, now = starting(cluster), cluster.clock()
    assert read_start_delay(cluster, job) is None
    silent = replace(KubernetesStatus(now), silent_since=now)
    record_kubernetes_status(cluster, held, silent)
    assert read_start_delay(cluster, job) == StartDelay("kubernetes.unheard", {"since": now.isoformat()})


@pytest.mark.parametrize(("nodes", "is_requeued"), [(1, False), (2, True)])
def test_a_refusal_says_when_the_start_is_given_up(
    cluster: Cluster, held: HeldLease, monkeypatch: pytest.MonkeyPatch, nodes: int, is_requeued: bool
) -> None:
    job, why = starting(cluster, nodes), REFUSED["why"]
    asked: list[tuple[int, int]] = []

    def refusal_of(status: KubernetesStatus, job_id: int, attempt: int) -> dict[str, Any]:
        asked.append((job_id, attempt))
        return dict(why)

    monkeypatch.setattr(KubernetesStatus, "refusal_of", refusal_of)
    record_kubernetes_status(cluster, held, KubernetesStatus(cluster.clock()))
    given_up_at = cluster.clock() + GIVE_UP_PENDING_AFTER
    assert read_start_delay(cluster, job) == StartDelay(why["code"], why["data"], given_up_at, is_requeued)
    assert asked == [(job.id, 1)]


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.STOPPING])
def test_what_has_begun_is_not_delayed(cluster: Cluster, held: HeldLease, state: JobState) -> None:
    job, now = starting(cluster, state=state), cluster.clock()
    record_kubernetes_status(cluster, held, replace(KubernetesStatus(now), silent_since=now))
    assert read_start_delay(cluster, job) is None
