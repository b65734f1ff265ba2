"""The reasons why a job waits, one class each with its data. `cluster.words` has the sentences in both languages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, ClassVar

from cluster.domain.queue.start_estimate import UNKNOWN_START, StartEstimate
from cluster.domain.states import UnitKind


@dataclass(frozen=True)
class NotEnoughUnits:
    """All units of the job must be on one node. `free` is the number on the node that has most of them free now."""

    code: ClassVar[str] = "waiting.not_enough_units"
    needed: int
    free: int
    node: str
    kind: UnitKind
    nodes: int = 1
    """The number of nodes that were examined. If only one was examined, the sentence does not say "emptiest"."""


@dataclass(frozen=True)
class NotEnoughUnitsTogether:
    """A gang may spread, and all nodes together have too few free units."""

    code: ClassVar[str] = "waiting.not_enough_together"
    needed: int
    free: int
    nodes: int
    kind: UnitKind


@dataclass(frozen=True)
class ClusterTooSmall:
    """All nodes together have too few working units, even when nothing runs."""

    code: ClassVar[str] = "waiting.cluster_too_small"
    needed: int
    most: int
    nodes: int
    kind: UnitKind


@dataclass(frozen=True)
class NodesTooSmall:
    """No node has that many working units, not even when nothing runs: some are broken or away."""

    code: ClassVar[str] = "waiting.nodes_too_small"
    needed: int
    most: int
    node: str
    kind: UnitKind


@dataclass(frozen=True)
class QuotaInUse:
    """The workspace's own units are in use by its other jobs."""

    code: ClassVar[str] = "waiting.quota_used"
    quota: int
    used: int
    needed: int
    kind: UnitKind


@dataclass(frozen=True)
class QuotaTooSmall:
    """The workspace holds fewer units than the job needs: it was cut after the job was submitted."""

    code: ClassVar[str] = "waiting.quota_too_small"
    quota: int
    needed: int
    kind: UnitKind


@dataclass(frozen=True)
class AheadInQueue:
    """Jobs of the same workspace come first; `job_id` is the one that starts next."""

    code: ClassVar[str] = "waiting.ahead_in_queue"
    count: int
    job_id: int


@dataclass(frozen=True)
class ReservedForAnother:
    """Free units are kept for a job of another workspace that has waited longer."""

    code: ClassVar[str] = "waiting.held_for_another"
    job_id: int
    node: str


@dataclass(frozen=True)
class WorkspaceNotStarted:
    code: ClassVar[str] = "waiting.workspace_not_started"
    workspace: str
    starts_on: date


@dataclass(frozen=True)
class WorkspaceExpired:
    code: ClassVar[str] = "waiting.workspace_expired"
    workspace: str
    ended_on: date


@dataclass(frozen=True)
class WorkspaceStorageFull:
    """The workspace stores what it may, or more; sizes are bytes."""

    code: ClassVar[str] = "waiting.storage_full"
    workspace: str
    used: int
    limit: int


@dataclass(frozen=True)
class EnvironmentNotReady:
    """`step` is the code of the building operation's present step, `progress` 0 to 1."""

    code: ClassVar[str] = "waiting.environment_not_ready"
    name: str
    progress: float = 0.0
    step: str = ""
    operation_id: int | None = None


@dataclass(frozen=True)
class EnvironmentFailed:
    """The environment could not be built; somebody has to try the operation again."""

    code: ClassVar[str] = "waiting.environment_failed"
    name: str
    operation_id: int | None = None


@dataclass(frozen=True)
class NoGpuEnvironment:
    """Units are GPUs, and what jobs run in computes on CPUs only: the environment `name`, or `image` if given."""

    code: ClassVar[str] = "waiting.no_gpu_environment"
    name: str
    image: str | None = None


@dataclass(frozen=True)
class DatasetNotReady:
    code: ClassVar[str] = "waiting.dataset_not_ready"
    name: str
    progress: float = 0.0


@dataclass(frozen=True)
class DatasetFailed:
    code: ClassVar[str] = "waiting.dataset_failed"
    name: str
    operation_id: int | None = None


@dataclass(frozen=True)
class DiskBelowReserve:
    """The disk has less free space than is kept for the database; sizes are bytes.

    `fillers` are the jobs whose files are the largest: (job id, bytes).
    """

    code: ClassVar[str] = "waiting.disk_short"
    mount: str
    free: int
    reserve: int
    fillers: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class OnlyNodesUnreachable:
    """The only nodes that could run the job do not answer."""

    code: ClassVar[str] = "waiting.node_unreachable"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class OnlyNodesLost:
    """The nodes were silent for longer than the grace time; what ran there waits again."""

    code: ClassVar[str] = "waiting.node_lost"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class OnlyNodesDraining:
    """The only nodes that could run the job take nothing new, because they are drained."""

    code: ClassVar[str] = "waiting.node_draining"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class NodeClosedByKubernetes:
    """The only nodes that could run the job are ready, and Kubernetes starts nothing there; `why` is {code, data}."""

    code: ClassVar[str] = "waiting.node_kept_out"
    node: str
    why: Mapping[str, Any]


@dataclass(frozen=True)
class NoExecutor:
    """Nodes are there, but none of them can start jobs."""

    code: ClassVar[str] = "waiting.no_executor"
    node: str
    nodes: int = 1


@dataclass(frozen=True)
class NoNodes:
    code: ClassVar[str] = "waiting.no_nodes"
    needed: int = 1


@dataclass(frozen=True)
class AttemptInterrupted:
    """The last attempt ended for no fault of the job; `cause` is an `interrupted.…` code."""

    code: ClassVar[str] = "waiting.interrupted"
    cause: str
    attempt: int
    node: str | None = None


@dataclass(frozen=True)
class RetryBackoff:
    """The job was interrupted at its beginning, `in_a_row` times, for no fault of its own; `pause` in seconds."""

    code: ClassVar[str] = "waiting.tried_later"
    cause: str
    attempt: int
    node: str
    in_a_row: int
    pause: int
    until: datetime


@dataclass(frozen=True)
class JobOnHold:
    """A person with the right to do so has held the job. It delays no other job until it is released."""

    code: ClassVar[str] = "waiting.on_hold"
    by: str
    since: datetime


@dataclass(frozen=True)
class SweepLimitReached:
    """The sweep runs as many jobs as it may. This one waits without holding up other jobs."""

    code: ClassVar[str] = "waiting.sweep_limit"
    sweep_id: int
    most: int


@dataclass(frozen=True)
class RetryAfterFailure:
    """The last attempt failed and the job has tries left; `cause` is an `exit.…` code."""

    code: ClassVar[str] = "waiting.tried_again"
    cause: str
    attempt: int
    used: int
    retries: int


@dataclass(frozen=True)
class NotYetExamined:
    """No pass has examined the job yet. The reason lasts for one pass."""

    code: ClassVar[str] = "waiting.submitted"


WaitingReason = (
    NotEnoughUnits
    | NotEnoughUnitsTogether
    | ClusterTooSmall
    | NodesTooSmall
    | QuotaInUse
    | QuotaTooSmall
    | AheadInQueue
    | ReservedForAnother
    | WorkspaceNotStarted
    | WorkspaceExpired
    | WorkspaceStorageFull
    | EnvironmentNotReady
    | EnvironmentFailed
    | NoGpuEnvironment
    | DatasetNotReady
    | DatasetFailed
    | DiskBelowReserve
    | OnlyNodesUnreachable
    | OnlyNodesLost
    | OnlyNodesDraining
    | NodeClosedByKubernetes
    | NoExecutor
    | NoNodes
    | JobOnHold
    | SweepLimitReached
    | AttemptInterrupted
    | RetryBackoff
    | RetryAfterFailure
    | NotYetExamined
)
REASONS: dict[str, type[WaitingReason]] = {kind.code: kind for kind in WaitingReason.__args__}


def to_waiting_data(reason: WaitingReason, outlook: StartEstimate = UNKNOWN_START) -> dict[str, Any]:
    """Returns the data that a job's row keeps beside the code: plain JSON, times as ISO text, without unknown values.
    The sentence is made when the row is read.
    """
    # Both are flat, so that their own dictionaries do; asdict() would copy each value deeply, for every row.
    known = {key: value for key, value in vars(outlook).items() if value not in (None, 0, False)}
    return {key: _plain(value) for key, value in (vars(reason) | known).items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return value.isoformat() if isinstance(value, date) else value
