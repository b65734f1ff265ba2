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
    """`slowest_seconds` is that of all looks since the pulse before; `ended` only grows, by the exit's meaning."""

    at: datetime
    last_seconds: float
    slowest_seconds: float
    ended: Mapping[str, int] = field(default_factory=dict)


def parse_scheduler_stats(fact: InstallationFact | None) -> SchedulerStats | None:
    """None before the first one."""
    if fact is None:
        return None
    said = fact.value
    at = datetime.fromisoformat(said["at"])
    return SchedulerStats(at, said["last_seconds"], said["slowest_seconds"], said["ended"])


def record_scheduler_stats(
    cluster: Cluster, held: HeldLease, last_seconds: float, slowest_seconds: float
) -> None:
    """Only the scheduler ends attempts, so that none is missed between two pulses. Raises LeaseLost."""
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
    """By when their units came free, which is when it was written down: the shim may have told of an earlier end.

    By the index of those moments, so that only what ended in between is read.
    """
    freed = select(Allocation.attempt_id).where(Allocation.ended_at > since, Allocation.ended_at <= until)
    query = select(Attempt.end_code, func.count()).where(Attempt.id.in_(freed)).group_by(Attempt.end_code)
    return {code or "unknown": count for code, count in session.execute(query)}
