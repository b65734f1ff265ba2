"""Whether what starts jobs (a container engine) answers: noted once when it falls silent, and when it is back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete

from cluster.services.context import Cluster
from cluster.services.leases import Held, check_lease
from cluster.store.leases import Fact

SILENT = "executor_silent"


@dataclass(frozen=True)
class Silence:
    """`code` has a sentence, e.g. `engine.silent`."""

    code: str
    data: Mapping[str, Any]
    since: datetime


def read_silence(cluster: Cluster) -> Silence | None:
    """None while it answers."""
    with cluster.store.read() as session:
        fact = session.get(Fact, SILENT)
    return parse_silence(fact.value) if fact is not None else None


def parse_silence(said: Mapping[str, Any]) -> Silence:
    return Silence(said["code"], said["data"], datetime.fromisoformat(said["since"]))


def note_silence(cluster: Cluster, held: Held, code: str | None, data: Mapping[str, Any]) -> bool:
    """`code` None: it answers. Whether that was news. Raises LeaseLost."""
    known = read_silence(cluster)
    if (known.code if known else None) == code:
        return False
    with cluster.store.write() as session:
        check_lease(session, held)
        if code is None:
            session.execute(delete(Fact).where(Fact.name == SILENT))
        else:
            since = cluster.clock().isoformat()
            session.merge(Fact(name=SILENT, value={"code": code, "data": dict(data), "since": since}))
    cluster.bell.ring("nodes", 0)
    return True
