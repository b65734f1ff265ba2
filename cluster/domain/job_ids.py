"""As whom a job runs: each user and each workspace has a number in a range that is nobody else's on the machine."""

from dataclasses import dataclass

from cluster.domain.errors import Refused

COUNT = 2**20
"""Numbers from each base on."""
LEAST_BASE = 1000
"""Below are root and the services of a machine."""
LARGEST_BASE = 2**32 - 2 - COUNT
"""The kernel keeps the last number for nobody at all."""
LARGEST_ROW_ID = COUNT - 1


@dataclass(frozen=True)
class JobIds:
    """Where an installation's numbers of users and of workspaces begin."""

    uid_base: int = 100_000
    gid_base: int = 100_000

    def uid_of(self, user_id: int) -> int:
        """Raises Refused."""
        return self.check_uid(self.uid_base + user_id)

    def gid_of(self, workspace_id: int) -> int:
        """Raises Refused."""
        return self.check_gid(self.gid_base + workspace_id)

    def check_uid(self, uid: int) -> int:
        """Raises Refused for root, for a service, and for whoever else is not one of our users."""
        return check("user", "job.user_number_outside", uid, self.uid_base)

    def check_gid(self, gid: int) -> int:
        """Raises Refused."""
        return check("workspace", "job.workspace_number_outside", gid, self.gid_base)


def check(field: str, code: str, number: int, base: int) -> int:
    first, last = max(base, LEAST_BASE), min(base, LARGEST_BASE) + LARGEST_ROW_ID
    if not first <= number <= last:
        raise Refused(field, code, number=number, first=first, last=last)
    return number


USUAL_IDS = JobIds()
"""Of an installation whose settings say nothing else."""


def is_base(number: int) -> bool:
    """Whether an installation's numbers may begin there."""
    return LEAST_BASE <= number <= LARGEST_BASE
