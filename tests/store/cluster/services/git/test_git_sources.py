"""A git source is set by who may upload code, keeps its secret sealed, and uses it for no other repository."""

import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from cluster.credential_box import CredentialBox
from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.states import GitCredential, OperationKind, TrainingKind
from cluster.services import training_changes
from cluster.services.context import Cluster
from cluster.services.git import git_sources
from cluster.services.git.fetch_orders import read_fetch_order
from cluster.services.git.git_sources import GitSourceChoice
from cluster.store.audit import AuditEntry
from cluster.store.trainings import GitSource, Training
from tests.builders import a_training, a_user, a_workspace, actor_of

URL = "https://git.lab.example/vision/net.git"
SSH = "git@git.lab.example:vision/net.git"
TOKEN = "glpat-4567890123456789"


class Case:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.owner = cluster, a_user(cluster)
        self.member = a_user(cluster)
        workspace = a_workspace(cluster, self.owner, members=(self.member,))
        self.training: Training = a_training(cluster, workspace, kind=TrainingKind.ADVANCED)

    def set(self, url: str = URL, **fields: object) -> GitSource:
        choice = GitSourceChoice(url, **fields)  # type: ignore[arg-type]
        return git_sources.set_source(self.cluster, actor_of(self.owner), self.training.id, choice)

    def refused(self, url: str = URL, **fields: object) -> str:
        with pytest.raises(Refused) as refused:
            self.set(url, **fields)
        return refused.value.code

    def secret(self) -> str | None:
        with self.cluster.store.read() as session:
            row = session.get_one(GitSource, self.training.id, options=[undefer(GitSource.sealed_secret)])
        if row.sealed_secret is None:
            return None
        box = CredentialBox(self.cluster.settings.credential_secret)
        return box.open(row.sealed_secret, git_sources.secret_purpose(self.training.id))


@pytest.fixture
def case(cluster: Cluster) -> Case:
    return Case(cluster)


def test_a_token_is_sealed_and_stays_for_its_repository_alone(case: Case) -> None:
    case.set(credential=GitCredential.TOKEN, token=TOKEN, reference="main", folder="src/")
    assert case.secret() == TOKEN
    with case.cluster.store.read() as session:
        row = session.get_one(GitSource, case.training.id, options=[undefer(GitSource.sealed_secret)])
        assert TOKEN not in str(row.sealed_secret) and (row.folder, row.user_name) == ("src", "git")
        entries = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "training.git_source_set")
        ).all()
        assert entries and all(TOKEN not in str(entry.data) for entry in entries)
    case.set(URL.removesuffix(".git"), credential=GitCredential.TOKEN)
    assert case.secret() == TOKEN
    for other in (
        "https://evil.example/net.git",
        "https://git.lab.example:8443/vision/net.git",
        "https://git.lab.example/private-of-the-tokens-owner/net.git",
    ):
        assert case.refused(other, credential=GitCredential.TOKEN) == "git.token_missing"
    case.set(credential=GitCredential.NONE)
    assert case.secret() is None
    assert case.refused(credential=GitCredential.TOKEN) == "git.token_missing"


def test_a_key_is_made_here_kept_and_replaced_on_request(case: Case) -> None:
    first = case.set(SSH, credential=GitCredential.DEPLOY_KEY).public_key
    assert first is not None and first.startswith("ssh-ed25519 ")
    assert "OPENSSH PRIVATE KEY" in (case.secret() or "")
    assert case.set(SSH, credential=GitCredential.DEPLOY_KEY).public_key == first
    assert case.set(SSH, credential=GitCredential.DEPLOY_KEY, makes_new_key=True).public_key != first
    elsewhere = case.set("git@evil.example:net.git", credential=GitCredential.DEPLOY_KEY).public_key
    assert elsewhere not in (None, first)
    assert case.refused(SSH, credential=GitCredential.DEPLOY_KEY, private_key="no key") == "git.key_unusable"


def test_who_may_not_upload_sets_and_fetches_nothing(case: Case) -> None:
    actor = actor_of(case.member)
    with pytest.raises(Forbidden):
        git_sources.set_source(case.cluster, actor, case.training.id, GitSourceChoice(URL))
    case.set()
    with pytest.raises(Forbidden):
        git_sources.request_fetch(case.cluster, actor, case.training.id)
    with pytest.raises(Forbidden):
        git_sources.remove_source(case.cluster, actor, case.training.id)
    stranger = actor_of(a_user(case.cluster))
    with pytest.raises(NotFound):
        git_sources.set_source(case.cluster, stranger, case.training.id, GitSourceChoice(URL))


def test_one_fetch_at_a_time_is_requested(case: Case) -> None:
    with pytest.raises(Refused) as refused:
        git_sources.request_fetch(case.cluster, actor_of(case.owner), case.training.id)
    assert refused.value.code == "git.no_source"
    case.set()
    operation = git_sources.request_fetch(case.cluster, actor_of(case.owner), case.training.id)
    assert (operation.kind, operation.subject_id) == (OperationKind.CODE_FETCH, case.training.id)
    with pytest.raises(Refused) as refused:
        git_sources.request_fetch(case.cluster, actor_of(case.owner), case.training.id)
    assert refused.value.code == "git.being_fetched"


def test_a_removed_source_and_a_deleted_training_forget_the_secret(case: Case) -> None:
    actor = actor_of(case.owner)
    case.set(credential=GitCredential.TOKEN, token=TOKEN)
    operation = git_sources.request_fetch(case.cluster, actor, case.training.id)
    git_sources.remove_source(case.cluster, actor, case.training.id)
    assert git_sources.read_source(case.cluster, case.training) is None
    with pytest.raises(NotFound):
        read_fetch_order(case.cluster, operation)
    case.set(credential=GitCredential.TOKEN, token=TOKEN)
    training_changes.delete_training(case.cluster, actor, case.training.id)
    assert git_sources.read_source(case.cluster, case.training) is None


def test_all_faults_of_a_form_are_said_at_once(case: Case) -> None:
    with pytest.raises(Refused) as refused:
        case.set("file:///etc", reference="a..b", folder="../x")
    assert [each.field for each in refused.value.each] == ["url", "reference", "folder"]
