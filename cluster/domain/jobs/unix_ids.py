"""The numbers of users and groups that an installation has on its machines, in a range that nothing else there uses.

The numbers after the base belong to users and workspaces, one for each row. The numbers of git fetches count down from
the end of the range, and those of builds lie below them. The numbers after the range belong to the SSH door.
"""

from dataclasses import dataclass

from cluster.domain.errors import Refused

IDS_PER_BASE = 2**20
"""The number of ids after each base. The base itself belongs to no job, because rows are counted from 1."""
SERVICE_IDS = 16
"""How many numbers after each range no job has: they belong to the SSH door, and some are unused."""
IDS_PER_INSTALLATION = IDS_PER_BASE + SERVICE_IDS
MIN_BASE = 1000
"""Smaller ids belong to root and to services of the machine."""
LARGEST_BASE = 2**31 - 1 - IDS_PER_INSTALLATION
"""Docker and Kubernetes start nothing as a user above 2**31 - 1."""
LARGEST_ROW_ID = IDS_PER_BASE - 1
FETCHES = 2**19
"""The number of ids at the range's end that belong to git fetches, one for each workspace."""
BUILDS = 2**18
"""The number of ids below them that belong to builds. Two environments have the same id only if 2**18 others lie
between them.
"""


@dataclass(frozen=True)
class UnixIds:
    """The user and group as which a program runs."""

    uid: int
    gid: int


@dataclass(frozen=True)
class JobUnixIds:
    """The bases of an installation's uids of users and gids of workspaces."""

    uid_base: int = 100_000
    gid_base: int = 100_000

    @property
    def uid_range(self) -> tuple[int, int]:
        """The first and the last uid as which a job may run. With `make up` the base itself belongs to nginx."""
        return self.uid_base + 1, self.uid_base + LARGEST_ROW_ID

    def uid_of(self, user_id: int) -> int:
        """Raises Refused if the id is outside of the range."""
        return self.check_uid(self.uid_base + user_id)

    def gid_of(self, workspace_id: int) -> int:
        """Raises Refused if the id is outside of the range."""
        return self.check_gid(self.gid_base + workspace_id)

    def for_fetch(self, workspace_id: int) -> UnixIds:
        """The ids of programs of a workspace that touch none of its files. Raises Refused if the id is out of range."""
        number = LARGEST_ROW_ID - workspace_id
        return UnixIds(self.uid_of(number), self.gid_of(number))

    def for_build(self, environment_id: int) -> UnixIds:
        """The ids of one build. Nothing else ever runs as this user, so that all its processes can be ended."""
        number = LARGEST_ROW_ID - FETCHES - environment_id % BUILDS
        return UnixIds(self.uid_of(number), self.gid_of(number))

    @property
    def first_door_id(self) -> int:
        """The first of the SERVICE_IDS ids after the range, which belong to the SSH door."""
        return self.uid_base + IDS_PER_BASE

    def check_uid(self, uid: int) -> int:
        """Raises Refused for root, for services, and for every other uid that belongs to none of our users."""
        return check_id_in_range("user", "job.user_number_outside", uid, self.uid_base)

    def check_gid(self, gid: int) -> int:
        """Raises Refused for a gid that belongs to none of our workspaces."""
        return check_id_in_range("workspace", "job.workspace_number_outside", gid, self.gid_base)


def check_id_in_range(field: str, code: str, number: int, base: int) -> int:
    first, last = max(base + 1, MIN_BASE), min(base, LARGEST_BASE) + LARGEST_ROW_ID
    if not first <= number <= last:
        raise Refused(field, code, number=number, first=first, last=last)
    return number


DEFAULT_UNIX_IDS = JobUnixIds()
"""The bases of an installation whose settings name no others."""


def is_valid_id_base(number: int) -> bool:
    """Whether an installation's ids may begin at this number."""
    return MIN_BASE <= number <= LARGEST_BASE
