"""Reads what a task is to fetch for a training, and records the end: a new version, nothing new, or a failure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, undefer

from cluster.credential_box import CredentialBox
from cluster.domain.errors import NotFound
from cluster.domain.git.git_sources import is_same_origin, origin_of
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeSource, CodeState, GitCredential
from cluster.services.code_imports import publish_import_end
from cluster.services.code_version_rows import add_upload_entry, new_version, place_version
from cluster.services.context import Cluster
from cluster.services.git.git_sources import secret_purpose
from cluster.services.operations import lifecycle
from cluster.services.storage.staged_code import StagedCode
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, GitSource, Training
from cluster.store.users import User

LONGEST_AUTHOR = 200
LONGEST_SUBJECT = 500


@dataclass(frozen=True)
class GitCommit:
    """A commit as git names it."""

    id: str
    author: str
    subject: str


@dataclass(frozen=True)
class FetchOrder:
    """What a task is to fetch. `secret` is the token or the private key and is never shown."""

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
        .options(undefer(GitSource.sealed_secret))
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


def find_fetched_version(cluster: Cluster, order: FetchOrder, commit_id: str) -> int | None:
    """The newest ready version with this commit from the same address and folder."""
    query = (
        select(CodeVersion.number, CodeVersion.origin)
        .where(
            CodeVersion.training_id == order.training.id,
            CodeVersion.state == CodeState.READY,
            CodeVersion.commit_id == commit_id,
        )
        .order_by(CodeVersion.number.desc())
    )
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    return next((number for number, origin in rows if is_same_origin(origin, order.url, order.folder)), None)


def finish_unchanged(cluster: Cluster, operation: Operation, version: int, known_hosts: str) -> None:
    """There is nothing new since this version. Stale: Conflict."""

    def record(session: Session, source: GitSource) -> None:
        source.found_version, source.is_found_new = version, False

    record_fetch_end(cluster, operation, known_hosts, record)


def finish_fetch(
    cluster: Cluster,
    operation: Operation,
    order: FetchOrder,
    commit: GitCommit,
    staged: StagedCode,
    known_hosts: str,
) -> None:
    """Places the staged files as the version that new jobs run. Raises Conflict if stale, and Refused while an archive
    is being unpacked.
    """

    def record(session: Session, source: GitSource) -> None:
        training = session.get_one(Training, order.training.id)
        person = session.get_one(User, operation.requested_by)
        actor = Actor(person.id, person.name)
        version = new_version(session, actor, training, CodeSource.GIT, None, cluster.clock())
        version.origin = origin_of(order.url, order.reference, order.folder)
        version.operation_id = operation.id
        version.commit_id = commit.id
        version.commit_author = commit.author[:LONGEST_AUTHOR]
        version.commit_subject = commit.subject[:LONGEST_SUBJECT]
        place_version(session, training, version, staged)
        add_upload_entry(session, actor, version)
        source.found_version, source.is_found_new = version.number, True

    record_fetch_end(cluster, operation, known_hosts, record)


def record_fetch_end(
    cluster: Cluster, operation: Operation, known_hosts: str, record: Callable[[Session, GitSource], None]
) -> None:
    with cluster.store.write(lock=f"code of training {operation.subject_id}") as session:
        lifecycle.finish_operation(session, operation.id, operation.fence, cluster.clock())
        training = session.get_one(Training, operation.subject_id)
        source = session.get(GitSource, operation.subject_id)
        if source is None or training.deleted_at is not None:
            raise NotFound("git_source", operation.subject_id)
        source.known_hosts = source.known_hosts or known_hosts or None
        record(session, source)
    publish_import_end(cluster, operation)


def record_fetch_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    """The source shows the failure of its newest operation. Stale: Conflict."""
    with cluster.store.write() as session:
        lifecycle.fail_operation(session, operation.id, operation.fence, cluster.clock(), code, data)
    publish_import_end(cluster, operation)


def read_version_commit(cluster: Cluster, training_id: int, number: int) -> CodeVersion | None:
    """The version of a training if it came from git: its commit stands on every job that runs it."""
    query = (
        select(CodeVersion)
        .where(
            CodeVersion.training_id == training_id,
            CodeVersion.number == number,
            CodeVersion.commit_id.is_not(None),
        )
        .options(joinedload(CodeVersion.creator))
    )
    with cluster.store.read() as session:
        return session.scalar(query)
