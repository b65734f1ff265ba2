"""The state of the queue as a whole, written by the scheduler: its order, and the reasons of jobs for which no reason
of their own is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.line_work import LineWork

MAX_IN_ORDER = 1000
"""Jobs whose place in everybody's queue is kept; those behind them are shown by their position."""


@dataclass(frozen=True)
class FreeBlock:
    """Units of one node that nobody holds."""

    units: int
    node: str


@dataclass(frozen=True)
class QueueOverview:
    """The overview of one scheduling pass, written if it changed. Its values are plain, because it is kept as JSON."""

    order: Sequence[int] = ()
    """The heads of all lines in the order of their turns."""
    fronts: Mapping[int, int] = field(default_factory=dict)
    """Workspace id → the job that starts next."""
    reasons_of_heads: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Code of a reason about units → the first jobs of lines that have it, in the order of their turns."""
    workspaces: Mapping[int, WaitingExplanation] = field(default_factory=dict)
    """Workspace id → the reason why all of its jobs wait, such as a term that has not begun."""
    datasets: Mapping[int, WaitingExplanation] = field(default_factory=dict)
    """Datasets that are not ready and for which jobs wait."""
    everybody: WaitingExplanation | None = None
    """The reason why the jobs of all workspaces wait, such as a missing environment or a full disk."""
    full_sweeps: Mapping[int, WaitingExplanation] = field(default_factory=dict)
    backed_off: Sequence[int] = ()
    """Jobs that are tried again after a pause."""
    lines: Mapping[int, LineWork] = field(default_factory=dict)
    """Workspace id → the work of its line, if the lengths of all jobs are known."""
    largest_free_block: FreeBlock | None = None
    """The place where the largest job could start now; None if nothing is free."""

    def shared_reason(
        self, workspace_id: int, dataset_id: int | None, sweep_id: int | None
    ) -> WaitingExplanation | None:
        """Returns the reason why jobs of this workspace, dataset or sweep wait, whatever their place in the line is."""
        return (
            self.workspaces.get(workspace_id)
            or self.datasets.get(dataset_id or 0)
            or self.everybody
            or self.full_sweeps.get(sweep_id or 0)
        )


def overview_to_data(overview: QueueOverview) -> dict[str, Any]:
    """Converts the overview to JSON, in which keys are text."""
    return {
        "order": list(overview.order),
        "fronts": {str(key): job_id for key, job_id in overview.fronts.items()},
        "reasons_of_heads": {code: list(ids) for code, ids in overview.reasons_of_heads.items()},
        "workspaces": shared_to_data(overview.workspaces),
        "datasets": shared_to_data(overview.datasets),
        "everybody": [overview.everybody.code, overview.everybody.data] if overview.everybody else None,
        "full_sweeps": shared_to_data(overview.full_sweeps),
        "backed_off": list(overview.backed_off),
        "lines": {str(key): asdict(work) for key, work in overview.lines.items()},
        "largest_free_block": asdict(overview.largest_free_block) if overview.largest_free_block else None,
    }


def shared_to_data(shared: Mapping[int, WaitingExplanation]) -> dict[str, Any]:
    return {str(key): [one.code, one.data] for key, one in shared.items()}


def parse_overview(data: Mapping[str, Any]) -> QueueOverview:
    everybody, free = data["everybody"], data["largest_free_block"]
    return QueueOverview(
        data["order"],
        {int(key): job_id for key, job_id in data["fronts"].items()},
        data["reasons_of_heads"],
        parse_shared(data["workspaces"]),
        parse_shared(data["datasets"]),
        WaitingExplanation(*everybody) if everybody else None,
        parse_shared(data["full_sweeps"]),
        data["backed_off"],
        {int(key): LineWork(**work) for key, work in data["lines"].items()},
        FreeBlock(**free) if free else None,
    )


def parse_shared(data: Mapping[str, Any]) -> dict[int, WaitingExplanation]:
    return {int(key): WaitingExplanation(*one) for key, one in data.items()}
