"""Records how far running jobs are, when they will end, and their headline metric, as their programs report it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import bindparam, select, update

from cluster.domain.jobs.headline_metric import HeadlineMetric, has_headline_changed
from cluster.domain.jobs.progress import ProgressEstimate, has_changed_visibly
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.base import UtcDateTime
from cluster.store.jobs import Attempt, Job, headline_columns, headline_of

TIME_TYPE = UtcDateTime()
UPDATE_PROGRESS = (
    update(Attempt)
    .where(Attempt.id == bindparam("attempt"))
    .values(
        progress=bindparam("part"),
        expected_end_at=bindparam("expected", type_=TIME_TYPE),
        earliest_end_at=bindparam("earliest", type_=TIME_TYPE),
        latest_end_at=bindparam("latest", type_=TIME_TYPE),
    )
)
HEADLINE_COLUMNS = (Job.headline_metric, Job.headline_value, Job.headline_is_best, Job.headline_score)
UPDATE_HEADLINE = (
    update(Job)
    .where(Job.id == bindparam("job"))
    .values({column: bindparam(column.key) for column in HEADLINE_COLUMNS})
)
MOVED_SECONDS = 60.0
"""If an expected end moves by more, open pages are told to read it again."""


@dataclass(frozen=True)
class AttemptReport:
    """The progress that a running program has reported; None if it has reported none."""

    progress: ProgressEstimate | None = None
    headline: HeadlineMetric | None = None


@dataclass
class Changes:
    """Rows of the two statements."""

    progress: list[dict[str, object]] = field(default_factory=list)
    headlines: list[dict[str, object]] = field(default_factory=list)
    moves_queue: bool = False


def record_reports(cluster: Cluster, held: HeldLease, found: Mapping[int, AttemptReport]) -> int:
    """Writes the reports that have changed, by attempt, and returns the number of rows. Raises LeaseLost."""
    changes = read_changes(cluster, found)
    if not changes.progress and not changes.headlines:
        return 0
    with cluster.store.write() as session:
        check_lease(session, held)
        if changes.progress:
            session.connection().execute(UPDATE_PROGRESS, changes.progress)
        if changes.headlines:
            session.connection().execute(UPDATE_HEADLINE, changes.headlines)
    if changes.moves_queue:
        cluster.events.publish("queue", 0)
    return len(changes.progress) + len(changes.headlines)


def read_changes(cluster: Cluster, found: Mapping[int, AttemptReport]) -> Changes:
    now, changes = cluster.clock(), Changes()
    columns = (Attempt.progress, Attempt.expected_end_at, Attempt.earliest_end_at, Attempt.latest_end_at)
    query = (
        select(Attempt.id, Attempt.job_id, *columns, *HEADLINE_COLUMNS)
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.id.in_(found), Attempt.ended_at.is_(None))
    )
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    for attempt_id, job_id, *values in rows:
        report, before, headline = found[attempt_id], ProgressEstimate(*values[:4]), headline_of(*values[4:])
        if report.progress is not None and has_changed_visibly(before, report.progress, now):
            changes.progress.append(progress_values(attempt_id, report.progress))
            changes.moves_queue = changes.moves_queue or has_end_moved(before, report.progress)
        if report.headline is not None and has_headline_changed(headline, report.headline):
            changes.headlines.append({"job": job_id} | headline_columns(report.headline))
    return changes


def progress_values(attempt_id: int, progress: ProgressEstimate) -> dict[str, object]:
    return {
        "attempt": attempt_id,
        "part": progress.part,
        "expected": progress.ends_at,
        "earliest": progress.earliest_at,
        "latest": progress.latest_at,
    }


def has_end_moved(before: ProgressEstimate, after: ProgressEstimate) -> bool:
    """True if the end has moved so much that a start that depends on it is shown differently."""
    if before.ends_at is None or after.ends_at is None:
        return before.ends_at is not after.ends_at
    return abs((after.ends_at - before.ends_at).total_seconds()) > MOVED_SECONDS
