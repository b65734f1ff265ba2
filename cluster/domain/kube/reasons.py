"""Why Kubernetes does not run, or no longer runs, what we handed it: one typed reason with numbers and names.

`cluster.words` says each in both languages; what Kubernetes wrote itself is kept only where nothing here fits.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from cluster.domain.kube.node_reasons import (
    EngineDown,
    NetworkDown,
    NodeFull,
    NodeSilent,
    ShuttingDown,
)
from cluster.domain.kube.pod_reasons import (
    CommandMissing,
    ContainerNotMade,
    DiskAllowanceUsed,
    Evicted,
    Gated,
    ImageIsRoot,
    ImageNameBroken,
    ImageNotPulled,
    ImageNotThere,
    KeepsCrashing,
    NodesRefuse,
    OutOfMemory,
    PushedOut,
    SettingMissing,
    TakenOff,
    UnitsTaken,
    VolumeMissing,
)
from cluster.domain.kube.queue_reasons import (
    FlavorUnfit,
    PodsLate,
    QueueFull,
    QueueLacks,
    QueueMissing,
    QueuePreempted,
    QueueStopped,
    QueueTooSmall,
    SwitchedOff,
)


@dataclass(frozen=True)
class NoWords:
    """Nothing here recognises it. `said` is the original, for the administrator; `speaker` who said it."""

    code: ClassVar[str] = "kubernetes.no_words"
    speaker: str
    word: str
    said: str


KubeReason = (
    QueueFull
    | QueueTooSmall
    | QueueLacks
    | QueueStopped
    | QueueMissing
    | FlavorUnfit
    | QueuePreempted
    | PodsLate
    | SwitchedOff
    | NodesRefuse
    | VolumeMissing
    | Gated
    | ImageNotPulled
    | ImageNotThere
    | ImageNameBroken
    | ImageIsRoot
    | SettingMissing
    | CommandMissing
    | ContainerNotMade
    | KeepsCrashing
    | OutOfMemory
    | Evicted
    | DiskAllowanceUsed
    | TakenOff
    | PushedOut
    | UnitsTaken
    | NodeFull
    | NodeSilent
    | EngineDown
    | NetworkDown
    | ShuttingDown
    | NoWords
)
KUBE_REASONS: dict[str, type[KubeReason]] = {kind.code: kind for kind in KubeReason.__args__}

LONGEST_ORIGINAL = 1000


def no_words(speaker: str, word: str, said: str) -> NoWords:
    return NoWords(speaker, word, said[:LONGEST_ORIGINAL])


def data_of(reason: KubeReason) -> dict[str, Any]:
    """Plain JSON for a row; nothing that is not known."""
    return {name: _plain(value) for name, value in vars(reason).items() if value not in (None, "", ())}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
