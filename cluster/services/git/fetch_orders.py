"""Reads what a task has to fetch for a training, with the decrypted secret."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import joinedload, undefer

from cluster.credential_box import CredentialBox
from cluster.domain.errors import NotFound
from cluster.domain.states import GitCredential
from cluster.services.context import Cluster
from cluster.services.git.git_sources import secret_purpose
from cluster.services.storage.workspace_storage import require_storage_room
from cluster.store.operations import Operation
from cluster.store.trainings import GitSource, Training


@dataclass(frozen=True)
class GitCommit:
    """A commit as git names it."""

    id: str
    author: str
    subject: str


@dataclass(frozen=True)
class FetchOrder:
    """The order that a task carries out. `secret` is the token or the private key and is never shown."""

    training: Training
    url: str
    reference: str
    folder: str
    credential: GitCredential
    user_name: str
    known_hosts: str
    secret: str = ""

    def __repr__(self) -> str:
        return f"FetchOrder(training={self.training.id})"


def read_fetch_order(cluster: Cluster, operation: Operation) -> FetchOrder:
    """Raises NotFound if the source was removed since, and Unavailable if its secret cannot be opened."""
    query = (
        select(GitSource, Training)
        .join(Training, Training.id == GitSource.training_id)
        .where(GitSource.training_id == operation.subject_id, Training.deleted_at.is_(None))
        .options(undefer(GitSource.sealed_secret), joinedload(Training.workspace))
    )
    with cluster.store.read() as session:
        row = session.execute(query).one_or_none()
    if row is None:
        raise NotFound("git_source", operation.subject_id)
    source, training = row
    secret = ""
    if source.sealed_secret:
        box = CredentialBox(cluster.settings.credential_secret)
        secret = box.open(source.sealed_secret, secret_purpose(training.id))
    return FetchOrder(
        training, source.url, source.reference, source.folder, source.credential, source.user_name,
        source.known_hosts or "", secret,
    )  # fmt: skip


def require_room_for_files(order: FetchOrder, files: Mapping[str, bytes]) -> None:
    """Raises Refused on `code` if the workspace may not store so much more."""
    require_storage_room(order.training.workspace, "code", sum(map(len, files.values())))
