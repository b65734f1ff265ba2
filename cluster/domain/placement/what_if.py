"""Find fewer units or a shorter time limit with which a waiting job would start now, by asking placement again."""

from dataclasses import dataclass, replace
from math import isfinite

from cluster.domain.jobs.submission import LONGEST_TIME_LIMIT, SHORTEST_TIME_LIMIT
from cluster.domain.placement.free_capacity import FreeCapacity
from cluster.domain.placement.scheduling_pass import PlacementInput, SchedulingPass
from cluster.domain.placement.types import JobToPlace, Placement
from cluster.domain.queue.start_estimate import StartEstimate


@dataclass(frozen=True)
class StartSuggestion:
    """Each of the two changes is enough on its own."""

    units: int | None = None
    time_limit_seconds: int | None = None

    def added_to_estimate(self, estimate: StartEstimate) -> StartEstimate:
        return replace(estimate, helps_units=self.units, helps_seconds=self.time_limit_seconds)


def suggest_changes(
    placement_input: PlacementInput, job: JobToPlace, grace: float = 0.0
) -> StartSuggestion | None:
    """`job` is one of `placement_input`'s. `grace`: seconds that a job holds its units after its time limit.

    None if neither fewer units nor a time limit would help, or if the job starts anyway.
    """
    capacity = FreeCapacity(
        placement_input.nodes,
        placement_input.quotas,
        placement_input.running,
        placement_input.now,
        placement_input.can_spread,
    )
    scheduling_pass = SchedulingPass(capacity)
    small = replace(job, units=1)  # A job that can never start has another position in the order.
    for other in scheduling_pass.sort_by_turn(
        [small if each.job_id == job.job_id else each for each in placement_input.jobs_to_place]
    ):
        if other.job_id == job.job_id:
            break
        scheduling_pass.start(other)
    if job.blocked_by or not scheduling_pass.can_backfill(job):
        return None
    units, seconds = capacity.most_units_now(job), capacity.longest_free_seconds(job) - grace
    if scheduling_pass.start(job):
        return None
    suggestion = StartSuggestion(
        units if units and would_start_now(placement_input, replace(job, units=units)) else None,
        suggest_time_limit(placement_input, job, seconds, grace),
    )
    return suggestion if suggestion != StartSuggestion() else None


def suggest_time_limit(
    placement_input: PlacementInput, job: JobToPlace, length: float, grace: float
) -> int | None:
    """The longest time limit, in whole minutes, that delays no reservation.

    `length`: for how many seconds the job's units are free. None if no limit is long enough for the job.
    """
    if not isfinite(length) or length < SHORTEST_TIME_LIMIT:
        return None
    seconds = min(int(length) // 60 * 60, LONGEST_TIME_LIMIT)
    if job.seconds is not None and job.seconds > seconds:
        return None
    return seconds if would_start_now(placement_input, replace(job, limit_seconds=seconds + grace)) else None


def would_start_now(placement_input: PlacementInput, changed: JobToPlace) -> bool:
    """Whether the job would start now with these changes."""
    jobs = [changed if job.job_id == changed.job_id else job for job in placement_input.jobs_to_place]
    return any(
        isinstance(decision, Placement) and decision.job_id == changed.job_id
        for decision in placement_input.decide(jobs)
    )
