"""Records an outage of the executor (its container engine does not answer) when it begins, and deletes the record
when it ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.facts import InstallationFact, read_fact

EXECUTOR_OUTAGE_FACT = "executor_outage"


@dataclass(frozen=True)
class ExecutorOutage:
    """An outage. `code` has a sentence, such as `engine.silent`."""

    code: str
    data: Mapping[str, Any]
    since: datetime


def read_executor_outage(cluster: Cluster) -> ExecutorOutage | None:
    """Returns None while the executor answers."""
    with cluster.store.read() as session:
        return read_fact(session, EXECUTOR_OUTAGE_FACT, parse_executor_outage)


def parse_executor_outage(said: Mapping[str, Any]) -> ExecutorOutage:
    return ExecutorOutage(said["code"], said["data"], datetime.fromisoformat(said["since"]))


def record_executor_outage(
    cluster: Cluster, held: HeldLease, code: str | None, data: Mapping[str, Any]
) -> bool:
    """Records the outage; None: the executor answers. Returns whether that is a change. Raises LeaseLost."""
    known = read_executor_outage(cluster)
    if (known.code if known else None) == code:
        return False
    with cluster.store.write() as session:
        check_lease(session, held)
        if code is None:
            session.execute(delete(InstallationFact).where(InstallationFact.name == EXECUTOR_OUTAGE_FACT))
        else:
            since = cluster.clock().isoformat()
            session.merge(
                InstallationFact(
                    name=EXECUTOR_OUTAGE_FACT, value={"code": code, "data": dict(data), "since": since}
                )
            )
    cluster.events.publish("nodes", 0)
    return True
