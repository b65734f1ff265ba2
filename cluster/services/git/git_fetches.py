"""Records how a task's fetch ended: a new version, nothing new, or a failure."""

from collections.abc import Callable
from typing import Any

from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound
from cluster.domain.git.git_sources import origin_of
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeSource
from cluster.services.code_version_rows import add_upload_entry, new_version, place_version
from cluster.services.context import Cluster
from cluster.services.git.fetch_orders import FetchOrder, GitCommit
from cluster.services.operations import lifecycle
from cluster.services.storage.staged_code import StagedCode
from cluster.store.operations import Operation
from cluster.store.trainings import GitSource, Training
from cluster.store.users import User

LONGEST_AUTHOR = 200
LONGEST_SUBJECT = 500


def finish_unchanged(cluster: Cluster, operation: Operation, version: int, known_hosts: str) -> None:
    """Records that nothing is new since this version. Raises Conflict if the task is stale."""

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
    publish_fetch_end(cluster, operation)


def record_fetch_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    """Records the failure, which the source shows as that of its newest operation. Raises Conflict if the task is
    stale.
    """
    with cluster.store.write() as session:
        lifecycle.fail_operation(session, operation.id, operation.fence, cluster.clock(), code, data)
    publish_fetch_end(cluster, operation)


def publish_fetch_end(cluster: Cluster, operation: Operation) -> None:
    cluster.events.publish("operations", operation.id)
    cluster.events.publish("trainings", operation.subject_id or 0)
