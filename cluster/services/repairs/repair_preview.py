"""The values that a person sees before a repair, and the digest of them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.cached_property import unlocked_cached_property
from cluster.domain.repairs.definition import Repair
from cluster.services.repairs.past_runs import (
    RepairSummary,
)
from cluster.services.repairs.reclaimable_path import ReclaimablePath
from cluster.services.repairs.repair_targets import (
    RepairTarget,
)
from cluster.store.jobs import Job
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun


@dataclass(frozen=True)
class RepairPreview:
    """The effects of the repair, read at `read_at`. `etag` changes if anything changes on which a person's decision
    depends.
    """

    repair: Repair
    digest: str
    targets: Sequence[RepairTarget]
    """The machines on which it would work. Empty while a person has to choose nodes."""
    choices: Sequence[RepairTarget]
    """The nodes from which a person chooses. Empty for a repair of the master."""
    read_at: datetime
    last_runs: Sequence[RepairRun]
    seconds: float | None
    jobs: Sequence[Job]
    """The jobs that would stop or wait. Empty if they go on."""
    jobs_there: int
    operations: Sequence[Operation]
    """The running operations that would start again."""
    leftovers: Sequence[ReclaimablePath]
    gentler: Sequence[RepairSummary]
    under_way: RepairRun | None
    is_first: bool
    """The repair has never run here, so that Ansible may have to be installed first."""
    busy: Sequence[str]
    """The nodes that have to be drained and empty first, and are not."""

    @unlocked_cached_property
    def etag(self) -> str:
        """A digest of everything that the preview shows; a request with another digest is refused."""
        shown = [
            self.digest,
            [target.host for target in self.targets],
            [job.id for job in self.jobs],
            [operation.id for operation in self.operations],
            [[str(leftover.path), leftover.size] for leftover in self.leftovers],
            self.under_way.id if self.under_way else None,
            list(self.busy),
        ]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]

    @property
    def host(self) -> str:
        """The targets by the names that people use, all in one line."""
        return ", ".join(target.host for target in self.targets)
