"""Records how far running jobs are and when they will end, as their programs report it."""

from collections.abc import Mapping

from sqlalchemy import bindparam, select, update

from cluster.domain.jobs.progress import ProgressEstimate, has_changed_visibly
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.base import UtcDateTime
from cluster.store.jobs import Attempt

TIME_TYPE = UtcDateTime()
UPDATE = (
    update(Attempt)
    .where(Attempt.id == bindparam("attempt"))
    .values(
        progress=bindparam("part"),
        expected_end_at=bindparam("expected", type_=TIME_TYPE),
        earliest_end_at=bindparam("earliest", type_=TIME_TYPE),
        latest_end_at=bindparam("latest", type_=TIME_TYPE),
    )
)
MOVED_SECONDS = 60.0
"""An end that moved by more is worth looking at the open pages again."""


def record_progress(cluster: Cluster, held: HeldLease, found: Mapping[int, ProgressEstimate]) -> int:
    """Writes what is news, by attempt; how many rows that were. Raises LeaseLost."""
    now = cluster.clock()
    columns = (Attempt.progress, Attempt.expected_end_at, Attempt.earliest_end_at, Attempt.latest_end_at)
    query = select(Attempt.id, *columns).where(Attempt.id.in_(found), Attempt.ended_at.is_(None))
    with cluster.store.read() as session:
        known = {row[0]: ProgressEstimate(*row[1:]) for row in session.execute(query)}
    news = {key: found[key] for key, before in known.items() if has_changed_visibly(before, found[key], now)}
    if not news:
        return 0
    with cluster.store.write() as session:
        check_lease(session, held)
        session.connection().execute(UPDATE, [progress_values(key, one) for key, one in news.items()])
    if any(has_end_moved(known[key], one) for key, one in news.items()):
        cluster.events.publish("queue", 0)
    return len(news)


def progress_values(attempt_id: int, progress: ProgressEstimate) -> dict[str, object]:
    return {
        "attempt": attempt_id,
        "part": progress.part,
        "expected": progress.ends_at,
        "earliest": progress.earliest_at,
        "latest": progress.latest_at,
    }


def has_end_moved(before: ProgressEstimate, after: ProgressEstimate) -> bool:
    """Whether a start that is told from it reads otherwise now."""
    if before.ends_at is None or after.ends_at is None:
        return before.ends_at is not after.ends_at
    return abs((after.ends_at - before.ends_at).total_seconds()) > MOVED_SECONDS
