"""Lists sweeps with their progress and their best job."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.people.actor import Actor
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.services.context import Cluster
from cluster.services.sweeps.queries import can_see_sweep
from cluster.store.jobs import Job, Sweep, headline_of
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace


class SweepLine(NamedTuple):
    """A sweep as lists show it, from columns alone."""

    id: int
    name: str
    workspace_id: int
    workspace_name: str
    training_id: int
    training_name: str
    user_id: int
    user_name: str
    jobs: int
    submitted_at: datetime
    stop_code: str | None
    best_id: int | None
    """The job with the best headline metric."""
    best_name: str | None
    headline_metric: str | None
    headline_value: float | None
    headline_is_best: bool | None
    headline_score: float | None
    counts: Mapping[JobState, int] = MappingProxyType({})
    """The counts of failed jobs and of the states that have not ended."""

    @property
    def headline(self) -> HeadlineMetric | None:
        return headline_of(
            self.headline_metric, self.headline_value, self.headline_is_best, self.headline_score
        )

    @property
    def ended(self) -> int:
        return self.jobs - sum(self.counts.get(state, 0) for state in LIVE_JOB_STATES)


COUNTED_STATES = (*LIVE_JOB_STATES, JobState.FAILED)
BEST_JOB = (
    select(Job.id)
    .where(Job.sweep_id == Sweep.id, Job.headline_score.is_not(None))
    .order_by(Job.headline_score.desc(), Job.id.desc())
    .limit(1)
    .correlate(Sweep)
    .scalar_subquery()
)
"""The subquery finds a sweep's best job by an index of its scores."""


def list_sweep_lines(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int | None = None,
    training_id: int | None = None,
    user_id: int | None = None,
    before_id: int | None = None,
    limit: int = 50,
) -> list[SweepLine]:
    """Lists the sweeps newest first, one keyset page, with two statements: the sweeps with their best jobs, and the
    counts of states.
    """
    best = aliased(Job)
    query = (
        select(
            Sweep.id, Sweep.name, Sweep.workspace_id, Workspace.name, Sweep.training_id, Training.name,
            Sweep.user_id, User.name, Sweep.jobs, Sweep.submitted_at, Sweep.stop_code, best.id, best.name,
            best.headline_metric, best.headline_value, best.headline_is_best, best.headline_score,
        )
        .join(Workspace, Workspace.id == Sweep.workspace_id)
        .join(Training, Training.id == Sweep.training_id)
        .join(User, User.id == Sweep.user_id)
        .outerjoin(best, best.id == BEST_JOB)
        .where(can_see_sweep(actor))
    )  # fmt: skip
    of = ((Sweep.workspace_id, workspace_id), (Sweep.training_id, training_id), (Sweep.user_id, user_id))
    query = query.where(*(column == value for column, value in of if value is not None))
    if before_id is not None:
        query = query.where(Sweep.id < before_id)
    with cluster.store.read() as session:
        rows = session.execute(query.order_by(Sweep.id.desc()).limit(limit)).all()
        lines = [SweepLine(*columns) for columns in map(tuple, rows)]
        counts = count_states_of_sweeps(session, [line.id for line in lines])
    return [line._replace(counts=counts.get(line.id, {})) for line in lines]


def count_states_of_sweeps(session: Session, sweep_ids: Sequence[int]) -> dict[int, dict[JobState, int]]:
    """Returns sweep id → counts. Finished and stopped jobs are not counted, because there may be thousands."""
    if not sweep_ids:
        return {}
    query = (
        select(Job.sweep_id, Job.state, func.count())
        .where(Job.sweep_id.in_(sweep_ids), Job.state.in_(COUNTED_STATES))
        .group_by(Job.sweep_id, Job.state)
    )
    found: dict[int, dict[JobState, int]] = {}
    for sweep_id, state, count in session.execute(query):
        found.setdefault(sweep_id or 0, {})[state] = count
    return found
