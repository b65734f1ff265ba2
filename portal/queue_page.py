"""The queue's lines as the page shows them: the sentence's parts, and node by node what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.domain.placement import NodeUnits
from cluster.domain.states import NodeState
from cluster.domain.waiting import to_data
from cluster.services.context import Cluster
from cluster.services.queue import QueueView, RunningJob
from cluster.store.jobs import Job
from portal.job_page import look_at


@dataclass(frozen=True)
class Line:
    """A waiting job. `job` None: another workspace's, of which only place and size are told.

    `code` None: its turn has come. `starts_at` None: not known.
    """

    number: int
    job: Job | None
    units: int
    code: str | None
    data: Mapping[str, Any]
    starts_at: datetime | None
    helps_units: int | None
    waited: float


@dataclass(frozen=True)
class Short:
    """One node and how many units it lacks for a job; 0: it would fit there."""

    node: NodeUnits
    missing: int

    @property
    def takes_jobs(self) -> bool:
        return self.node.state is NodeState.READY


@dataclass(frozen=True)
class Run:
    """A running job; `part` is what it says itself (0 to 1), None where it does not."""

    job: Job | None
    units: int
    node: str
    ends_at: datetime | None
    ran: float | None
    part: float | None


def lines_of(view: QueueView, moment: datetime) -> list[Line]:
    return [
        Line(
            line.number,
            line.job,
            line.units,
            line.decision.reason.code if line.decision else None,
            to_data(line.decision.reason, line.decision.outlook) if line.decision else {},
            line.decision.outlook.starts_at if line.decision else moment,
            line.decision.outlook.helps_units if line.decision else None,
            (moment - line.job.submitted_at).total_seconds() if line.job else 0.0,
        )
        for line in view.waiting
    ]


def shorts_of(nodes: list[NodeUnits], units: int) -> list[Short]:
    """The node that lacks least first."""
    shorts = [Short(node, max(0, units - len(node.free))) for node in nodes]
    return sorted(shorts, key=lambda short: (not short.takes_jobs, short.missing, short.node.name))


def runs_of(cluster: Cluster, view: QueueView, moment: datetime) -> list[Run]:
    return [run_of(cluster, run, moment) for run in view.running]


def run_of(cluster: Cluster, run: RunningJob, moment: datetime) -> Run:
    part = look_at(cluster, run.job, None).progress.part if run.job else None
    ran = (moment - run.started_at).total_seconds() if run.started_at else None
    return Run(run.job, run.units, run.node, run.ends_at, ran, part)
