"""Records the scheduler's own statistics once a minute: how long its passes take and how attempts ended."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt
from cluster.store.nodes import Allocation

SCHEDULER_STATS_FACT = "scheduler_stats"


@dataclass(frozen=True)
class SchedulerStats:
    """`slowest_seconds` is the slowest pass since the record before; `ended` counts all ended attempts by end code."""

    at: datetime
    last_seconds: float
    slowest_seconds: float
    ended: Mapping[str, int] = field(default_factory=dict)


def parse_scheduler_stats(fact: InstallationFact | None) -> SchedulerStats | None:
    """Returns None before the first record."""
    if fact is None:
        return None
    value = fact.value
    at = datetime.fromisoformat(value["at"])
    return SchedulerStats(at, value["last_seconds"], value["slowest_seconds"], value["ended"])


def record_scheduler_stats(
    cluster: Cluster, held: HeldLease, last_seconds: float, slowest_seconds: float
) -> None:
    """Writes one record. Only the scheduler ends attempts, so no end falls between two records. Raises LeaseLost."""
    now = cluster.clock()
    with cluster.store.read() as session:
        before = parse_scheduler_stats(session.get(InstallationFact, SCHEDULER_STATS_FACT))
        ended = Counter(dict(before.ended) if before else {})
        if before is not None:
            ended.update(count_ended_attempts(session, before.at, now))
    value = {
        "at": now.isoformat(),
        "last_seconds": round(last_seconds, 6),
        "slowest_seconds": round(max(last_seconds, slowest_seconds), 6),
        "ended": dict(ended),
    }
    with cluster.store.write() as session:
        check_lease(session, held)
        session.merge(InstallationFact(name=SCHEDULER_STATS_FACT, value=value))


def count_ended_attempts(session: Session, since: datetime, until: datetime) -> dict[str, int]:
    """Attempts by end code whose units were freed after `since` and not after `until`.

    Units are freed when the end is recorded; the end that the shim reports may be earlier. The index on that
    moment lets the query read these rows alone.
    """
    freed = select(Allocation.attempt_id).where(Allocation.ended_at > since, Allocation.ended_at <= until)
    query = select(Attempt.end_code, func.count()).where(Attempt.id.in_(freed)).group_by(Attempt.end_code)
    return {code or "unknown": count for code, count in session.execute(query)}
