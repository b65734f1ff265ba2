"""The kinds of installation."""

from enum import StrEnum


class InstallationKind(StrEnum):
    """EMBEDDED is what `make up` runs on one machine, SERVERS what site.yml has installed.

    KUBERNETES is said by repairs of a cluster: only servers that have one have their files.
    """

    EMBEDDED = "embedded"
    SERVERS = "servers"
    KUBERNETES = "kubernetes"
