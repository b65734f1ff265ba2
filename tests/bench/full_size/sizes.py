"""How large an installation is: what the goals name, and smaller ones of the same shape."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

UNTIL = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
"""When the last of the rows was written; tests set their clock to it."""
HISTORY = timedelta(days=300)
"""How far back the rows go."""
UNITS_PER_NODE = 8
NODES_PER_GROUP = 4
"""Jobs of one time slot share the units of so many neighbouring nodes."""
SEAL_SECRET = "a key for tests only, long enough"
"""What the audit is sealed with: an installation over these rows has it as its audit key."""


@dataclass(frozen=True)
class InstallationSize:
    """Of 100 jobs 79 have finished, 14 failed, 6 were stopped and 1 waits; nothing runs.

    `nodes` is a multiple of NODES_PER_GROUP. The first `administrators` of the people are administrators.
    """

    people: int = 51
    administrators: int = 4
    workspaces: int = 21
    """The last one has a single training and no job: measures submit there."""
    trainings: int = 101
    jobs: int = 100_000
    audit_entries: int = 1_000_000
    nodes: int = 500
    operations: int = 2_000
    repair_runs: int = 60

    def __post_init__(self) -> None:
        if self.nodes % NODES_PER_GROUP or self.people < self.administrators + self.workspaces:
            raise ValueError(self)

    @property
    def units(self) -> int:
        return self.nodes * UNITS_PER_NODE

    @property
    def quota(self) -> int:
        """Units of each workspace with jobs; waiting jobs ask for more than that."""
        return 8 if self.units >= 8 * self.workspaces + MEASURED_QUOTA else 1

    @property
    def measured_quota(self) -> int:
        """Units of the last workspace."""
        return min(MEASURED_QUOTA, self.units - self.quota * (self.workspaces - 1))


MEASURED_QUOTA = 128
FULL = InstallationSize()
