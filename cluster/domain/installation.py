"""The kinds of installation, and what differs between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


@dataclass(frozen=True)
class InstallationCapabilities:
    has_systemd: bool
    """Whether systemd runs the services and each shim. Else the process manager of `make up` does."""
    polled_queues: frozenset[str]
    """Values of TaskQueue whose task workers find their operations in the rows instead of Redis: Redis may be what is
    repaired, and who may write there cannot tell root what to run."""
    may_have_kubernetes: bool
    keeps_old_versions: bool
    """Whether an update keeps the program files of the previous version."""
    makes_backups_on_request: bool
    """Whether an operation makes a backup on request. Else a repair does."""


class InstallationKind(StrEnum):
    """EMBEDDED is what `make up` runs on one machine; SERVERS is what site.yml has installed.

    KUBERNETES is used by repairs of a cluster. Only servers with Kubernetes have those repairs.
    """

    EMBEDDED = "embedded"
    SERVERS = "servers"
    KUBERNETES = "kubernetes"

    @property
    def capabilities(self) -> InstallationCapabilities:
        """The capabilities of EMBEDDED and SERVERS. No installation is KUBERNETES alone."""
        return CAPABILITIES[self]


CAPABILITIES: Mapping[InstallationKind, InstallationCapabilities] = MappingProxyType(
    {
        InstallationKind.EMBEDDED: InstallationCapabilities(
            has_systemd=False,
            polled_queues=frozenset(),
            may_have_kubernetes=False,
            keeps_old_versions=False,
            makes_backups_on_request=False,
        ),
        InstallationKind.SERVERS: InstallationCapabilities(
            has_systemd=True,
            polled_queues=frozenset({"repair", "backups"}),
            may_have_kubernetes=True,
            keeps_old_versions=True,
            makes_backups_on_request=True,
        ),
    }
)
