"""The kinds of installation, and what differs between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


@dataclass(frozen=True)
class InstallationCapabilities:
    has_systemd: bool
    """systemd runs the services and each shim; else the process manager of `make up` does."""
    polls_repairs: bool
    """The task worker of repairs finds them in the rows, because Redis may be what is repaired."""
    may_have_kubernetes: bool
    keeps_old_versions: bool
    """An update leaves the program files of the version before."""
    makes_backups_on_request: bool
    """An operation makes a backup; else a repair does."""


class InstallationKind(StrEnum):
    """EMBEDDED is what `make up` runs on one machine, SERVERS what site.yml has installed.

    KUBERNETES is said by repairs of a cluster: only servers that have one have their files.
    """

    EMBEDDED = "embedded"
    SERVERS = "servers"
    KUBERNETES = "kubernetes"

    @property
    def capabilities(self) -> InstallationCapabilities:
        """Of EMBEDDED and SERVERS: no installation is KUBERNETES alone."""
        return CAPABILITIES[self]


CAPABILITIES: Mapping[InstallationKind, InstallationCapabilities] = MappingProxyType(
    {
        InstallationKind.EMBEDDED: InstallationCapabilities(
            has_systemd=False,
            polls_repairs=False,
            may_have_kubernetes=False,
            keeps_old_versions=False,
            makes_backups_on_request=False,
        ),
        InstallationKind.SERVERS: InstallationCapabilities(
            has_systemd=True,
            polls_repairs=True,
            may_have_kubernetes=True,
            keeps_old_versions=True,
            makes_backups_on_request=True,
        ),
    }
)
