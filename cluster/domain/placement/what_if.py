"""Find fewer units or a shorter time limit with which a waiting job would start now, when its turn has come."""

from math import isfinite

from cluster.domain.jobs.submission import LONGEST_TIME_LIMIT, SHORTEST_TIME_LIMIT
from cluster.domain.placement.free_capacity import FreeCapacity
from cluster.domain.placement.types import JobToPlace
from cluster.domain.queue.start_estimate import StartEstimate


def suggest_changes(capacity: FreeCapacity, job: JobToPlace) -> StartEstimate:
    """Returns an estimate that holds suggestions alone. Each of the two changes is enough on its own.

    `job` did not start, and no job of its workspace comes before it, so that it could have all that `capacity` has
    left.
    """
    units = capacity.most_units_now(job)
    kind = next((node.kind for node in capacity.ready.values() if node.total), None)
    seconds = suggest_time_limit(job, capacity.longest_free_seconds(job) - job.grace_seconds)
    return StartEstimate(helps_units=units, helps_seconds=seconds, kind=kind if units else None)


def suggest_time_limit(job: JobToPlace, length: float) -> int | None:
    """The longest time limit, in whole minutes, that delays no reservation.

    `length`: for how many seconds the job's units are free. None if no limit is long enough for the job.
    """
    if not isfinite(length) or length < SHORTEST_TIME_LIMIT:
        return None
    seconds = min(int(length) // 60 * 60, LONGEST_TIME_LIMIT)
    return None if job.seconds is not None and job.seconds > seconds else seconds
