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
    """The soonest end first, those without one after them in the order in which they started."""
    runs = [run_of(cluster, run, moment) for run in view.running]
    return sorted(runs, key=lambda run: (run.ends_at is None, run.ends_at or moment, -(run.ran or 0.0)))


def run_of(cluster: Cluster, run: RunningJob, moment: datetime) -> Run:
    """What the job itself has measured tells its end better than an earlier job or a time limit does."""
    progress = look_at(cluster, run.job, None).progress if run.job else None
    ends_at = (progress.ends_at if progress else None) or run.ends_at
    ran = (moment - run.started_at).total_seconds() if run.started_at else None
    return Run(run.job, run.units, run.node, ends_at, ran, progress.part if progress else None)
