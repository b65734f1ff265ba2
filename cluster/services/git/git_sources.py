"""Sets the git source of a training, and requests that a task fetches from it. Its owner and managers may."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, undefer

from cluster.credential_box import CredentialBox
from cluster.domain.errors import Refused
from cluster.domain.git import git_sources as rules
from cluster.domain.git.git_sources import GitTarget
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_permission
from cluster.domain.refusals import Refusals
from cluster.domain.states import GitCredential, OperationKind, OperationState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.git.deploy_keys import DeployKey, make_deploy_key, read_deploy_key
from cluster.services.operations import lifecycle
from cluster.services.people.access import require_active_workspace, training_relation
from cluster.services.storage.workspace_storage import require_storage_room
from cluster.services.trainings import load_training
from cluster.store.audit import add_audit_entry
from cluster.store.operations import Operation
from cluster.store.trainings import GitSource, Training

OPEN_STATES = (OperationState.REQUESTED, OperationState.RUNNING)


@dataclass(frozen=True)
class GitSourceChoice:
    """The source as a person enters it. An empty `token` or `private_key` keeps the stored one for the same
    repository. If there is none, a key is made here.
    """

    url: str
    reference: str = ""
    folder: str = ""
    credential: GitCredential = GitCredential.NONE
    user_name: str = ""
    token: str = ""
    private_key: str = ""
    makes_new_key: bool = False


def secret_purpose(training_id: int) -> str:
    """Returns the name to which a sealed secret is bound, so that it cannot be opened for another training."""
    return f"git source of training {training_id}"


def read_source(cluster: Cluster, training: Training) -> GitSource | None:
    """The source of a training that the reader may see, without its secret."""
    query = (
        select(GitSource)
        .where(GitSource.training_id == training.id)
        .options(joinedload(GitSource.operation), joinedload(GitSource.setter))
    )
    with cluster.store.read() as session:
        return session.scalar(query)


def is_being_fetched(source: GitSource) -> bool:
    return source.operation is not None and source.operation.state in OPEN_STATES


def set_source(cluster: Cluster, actor: Actor, training_id: int, choice: GitSourceChoice) -> GitSource:
    """Nothing is fetched yet. A token or key that is not entered again is kept only if the repository stays the same:
    it may belong to another person, and allow more than the person who sets the source may read. Raises Refused.
    """
    with cluster.store.read() as session:
        load_fetchable(cluster, session, actor, training_id)
    refusals = Refusals()
    target = refusals.check(rules.parse_git_target, choice.url)
    reference = refusals.check(rules.check_reference, choice.reference) or ""
    folder = (
        refusals.check(rules.check_source_folder, choice.folder, cluster.settings.unicode_file_names) or ""
    )
    if target is not None:
        refusals.check(rules.check_credential, target, choice.credential)
    refusals.raise_all()
    assert target is not None
    now = cluster.clock()
    with cluster.store.write(lock=f"code of training {training_id}") as session:
        training = load_fetchable(cluster, session, actor, training_id)
        row = session.get(GitSource, training.id, options=[undefer(GitSource.sealed_secret)])
        if row is None:
            row = GitSource(training_id=training.id, url="", is_found_new=False)
        set_credential(cluster, row, choice, target)
        row.url, row.reference, row.folder = target.url, reference, folder
        row.set_by, row.set_at = actor.user_id, now
        session.add(row)
        about = {"host": target.host, "reference": reference, "credential": choice.credential.value}
        add_audit_entry(session, now, actor, "training.git_source_set", training.id, **about)
    cluster.events.publish("trainings", training_id)
    found = read_source(cluster, training)
    assert found is not None
    return found


def set_credential(cluster: Cluster, row: GitSource, choice: GitSourceChoice, target: GitTarget) -> None:
    """Raises Refused on `token`, `user_name` or `private_key`."""
    is_same = bool(row.url) and rules.parse_git_target(row.url).is_same_repository(target)
    may_keep = is_same and row.credential is choice.credential and row.sealed_secret is not None
    row.known_hosts = None  # Setting the source again is how a person accepts a new key of the server.
    row.credential, row.user_name = choice.credential, ""
    if choice.credential is GitCredential.NONE:
        row.sealed_secret = row.public_key = None
        return
    secret = ""
    if choice.credential is GitCredential.TOKEN:
        row.user_name, row.public_key = rules.check_token_user(choice.user_name), None
        if choice.token.strip() or not may_keep:
            secret = rules.check_token(choice.token)
    elif key := choose_key(choice, may_keep):
        secret, row.public_key = key.private, key.public
    if secret:
        row.sealed_secret = CredentialBox(cluster.settings.credential_secret).seal(
            secret, secret_purpose(row.training_id)
        )


def choose_key(choice: GitSourceChoice, may_keep: bool) -> DeployKey | None:
    """Returns the entered key or a new one; None if the stored key stays."""
    if choice.private_key.strip():
        return read_deploy_key(choice.private_key)
    return None if may_keep and not choice.makes_new_key else make_deploy_key()


def remove_source(cluster: Cluster, actor: Actor, training_id: int) -> None:
    """Deletes the source's address and secret; versions that were fetched stay. A second call changes nothing."""
    now = cluster.clock()
    with cluster.store.write(lock=f"code of training {training_id}") as session:
        training = load_training(session, actor, training_id)
        require_permission("training.upload_code", training_relation(actor, training), training_id)
        row = session.get(GitSource, training_id)
        if row is not None:
            session.delete(row)
            add_audit_entry(session, now, actor, "training.git_source_removed", training_id)
    cluster.events.publish("trainings", training_id)


def request_fetch(cluster: Cluster, actor: Actor, training_id: int) -> Operation:
    """Raises Refused on `url` if there is no source, and while the fetch before has not ended."""
    with cluster.store.write(lock=f"code of training {training_id}") as session:
        training = load_fetchable(cluster, session, actor, training_id)
        row = session.get(GitSource, training.id, options=[joinedload(GitSource.operation)])
        if row is None:
            raise Refused("url", "git.no_source", name=training.name)
        if is_being_fetched(row):
            raise Refused("url", "git.being_fetched", name=training.name)
        now = cluster.clock()
        operation = lifecycle.request_operation(
            session, OperationKind.CODE_FETCH, training.id, actor, now, training.workspace_id
        )
        row.operation_id = operation.id
        add_audit_entry(session, now, actor, "training.code_fetch_requested", training.id)
    lifecycle.enqueue_operation(cluster, operation)
    cluster.events.publish("trainings", training_id)
    return operation


def load_fetchable(cluster: Cluster, session: Session, actor: Actor, training_id: int) -> Training:
    """Raises NotFound, Forbidden, and Refused on `url` for a training that takes no code."""
    training = load_training(session, actor, training_id)
    require_permission("training.upload_code", training_relation(actor, training), training_id)
    require_active_workspace(cluster, training.workspace, "url")
    if training.kind is TrainingKind.BUILT_IN:
        raise Refused("url", "code.built_in_has_none", name=training.name)
    require_storage_room(training.workspace, "url")
    if training.archived_at is not None:
        raise Refused("url", "training.archived", name=training.name)
    return training
