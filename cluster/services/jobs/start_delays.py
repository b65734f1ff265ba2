"""Reads why a job that has units has not started yet: the last message that Kubernetes gave about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.domain.jobs.attempts import GIVE_UP_PENDING_AFTER
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import read_kubernetes_status
from cluster.store.jobs import Job


@dataclass(frozen=True)
class StartDelay:
    """A delayed start. `given_up_at` is None while Kubernetes does not answer, because that time does not count."""

    code: str
    data: Mapping[str, Any]
    given_up_at: datetime | None = None
    is_requeued: bool = False
    """Whether the job waits again, as a gang that gives its units back; any other job has failed then."""


def read_start_delay(cluster: Cluster, job: Job) -> StartDelay | None:
    """Returns None if the job starts as expected, as far as the executor reports. `job` is loaded with its attempts."""
    if job.state is not JobState.STARTING or not job.attempts:
        return None
    standing, attempt = read_kubernetes_status(cluster), job.attempts[-1]
    if standing is None:
        return None
    if standing.silent_since is not None:
        return StartDelay("kubernetes.unheard", {"since": standing.silent_since.isoformat()})
    why = standing.refusal_of(job.id, attempt.number)
    if why is None:
        return None
    nodes = {held.unit.node_id for held in attempt.allocations}
    return StartDelay(why["code"], why["data"], attempt.created_at + GIVE_UP_PENDING_AFTER, len(nodes) > 1)
