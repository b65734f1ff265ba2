"""Reads what the newest checks of a node's GPUs said. The runs of their repairs are the only record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, select

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.store.nodes import IS_NODE_KNOWN, Node
from cluster.store.repairs import RepairRun

CHECK_NODE = "verify-gpus"
MULTIPLY = "check-gpus"
CHECKS = (CHECK_NODE, MULTIPLY)
COUNTS_FOR = timedelta(days=7)
"""A check says nothing of a node any more after this time."""
NEWEST_RUNS = 200
BAD_VERDICTS = (RepairVerdict.NOT_VERIFIED, RepairVerdict.BROKEN)


@dataclass(frozen=True)
class GpuCheck:
    """The newest check that has ended on a node. `lines` say what does not work, with remedy and command."""

    run_id: int
    name: str
    node_id: int
    node: str
    ended_at: datetime
    is_ok: bool
    lines: tuple[str, ...]


def has_failed_lately(now: datetime) -> ColumnElement[bool]:
    """Selects runs of a check that failed, although a later run may have passed since."""
    return (
        RepairRun.name.in_(CHECKS)
        & RepairRun.verdict.in_(BAD_VERDICTS)
        & (RepairRun.ended_at > now - COUNTS_FOR)
    )


def list_newest_checks(cluster: Cluster, node_id: int | None = None) -> list[GpuCheck]:
    """The newest check of each kind on each node, or on one."""
    query = (
        select(RepairRun)
        .where(
            RepairRun.name.in_(CHECKS),
            RepairRun.verdict.is_not(None),
            RepairRun.verdict != RepairVerdict.CANCELLED,
            RepairRun.ended_at > cluster.clock() - COUNTS_FOR,
        )
        .order_by(RepairRun.id.desc())
        .limit(NEWEST_RUNS)
    )
    with cluster.store.read() as session:
        runs = list(session.scalars(query))
        nodes = select(Node.name, Node.id).where(IS_NODE_KNOWN)
        rows = session.execute(nodes if node_id is None else nodes.where(Node.id == node_id)).all()
    ids = {row.name: row.id for row in rows}
    return newest_checks(runs, ids)


def newest_checks(runs: Iterable[RepairRun], ids: Mapping[str, int]) -> list[GpuCheck]:
    """`runs` are the newest first. A host without a node in `ids` is left out."""
    found: dict[tuple[str, str], GpuCheck] = {}
    for run in runs:
        for host in run.hosts:
            if host not in ids or run.ended_at is None:
                continue
            lines = failed_lines(run.tasks, host)
            # The verdict of a run on several nodes says nothing about one of them.
            is_ok = not lines and (len(run.hosts) > 1 or run.verdict not in BAD_VERDICTS)
            check = GpuCheck(run.id, run.name, ids[host], host, run.ended_at, is_ok, lines)
            found.setdefault((run.name, host), check)
    return list(found.values())


def failed_lines(tasks: list[dict[str, Any]], host: str) -> tuple[str, ...]:
    """The lines that the failed tasks printed about this host."""
    texts = [str(task.get("output", {}).get(host, "")) for task in tasks]
    return tuple(line.strip() for text in texts for line in text.splitlines() if line.strip())
