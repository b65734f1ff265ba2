"""The git source of a training with the state of its newest fetch."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.git.fetched_versions import read_version_commit
from cluster.services.git.git_sources import is_being_fetched, read_source
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, GitSource, Training
from portal.presenters.operation_steps import operation_steps

SHORT_COMMIT = 10


@dataclass(frozen=True)
class GitSourcePanel:
    """`found` is the version with the commit of the newest successful fetch."""

    training: Training
    source: GitSource | None
    found: CodeVersion | None

    @property
    def operation(self) -> Operation | None:
        return self.source.operation if self.source is not None else None

    @property
    def is_open(self) -> bool:
        return self.source is not None and is_being_fetched(self.source)

    @property
    def steps(self) -> Sequence[dict[str, str]]:
        return operation_steps(self.operation) if self.operation is not None else []

    @property
    def failed(self) -> Operation | None:
        is_bad = self.operation is not None and self.operation.state in (
            OperationState.FAILED,
            OperationState.INTERRUPTED,
        )
        return self.operation if is_bad else None

    @property
    def host_key(self) -> str:
        return fingerprint_of(self.source.known_hosts or "") if self.source is not None else ""


def read_git_source_panel(cluster: Cluster, training: Training) -> GitSourcePanel:
    source = read_source(cluster, training)
    found = None
    if source is not None and source.found_version is not None:
        found = read_version_commit(cluster, training.id, source.found_version)
    return GitSourcePanel(training, source, found)


def fingerprint_of(known_hosts: str) -> str:
    """The fingerprint of the first noted key, as ssh prints it: `SHA256:…`. Empty if there is none."""
    for line in known_hosts.splitlines():
        words = line.split()
        try:
            blob = base64.b64decode(words[2], validate=True)
        except (IndexError, binascii.Error):
            continue
        digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
        return f"SHA256:{digest}"
    return ""


def short_commit(commit_id: str) -> str:
    return commit_id[:SHORT_COMMIT]
