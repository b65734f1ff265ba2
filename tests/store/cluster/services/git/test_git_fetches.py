"""The end of a fetch: a version with its commit, nothing new, or a failure; a stale task records nothing."""

import pytest

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.states import CodeState, OperationState, TrainingKind
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.git import git_fetches, git_sources
from cluster.services.git.fetch_orders import GitCommit, read_fetch_order
from cluster.services.git.fetched_versions import read_version_commit
from cluster.services.git.git_sources import GitSourceChoice
from cluster.services.operations import lifecycle
from cluster.services.storage.staged_code import staged_code
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, GitSource, Training
from tests.builders import a_training, a_user, a_workspace, actor_of

URL = "https://git.lab.example/net.git"
COMMIT = GitCommit("c" * 40, "A" * 300, "S" * 900)


class Case:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.owner = cluster, a_user(cluster)
        self.training: Training = a_training(
            cluster, a_workspace(cluster, self.owner), kind=TrainingKind.ADVANCED, code_version=0
        )
        git_sources.set_source(cluster, actor_of(self.owner), self.training.id, GitSourceChoice(URL, "main"))

    def claim(self) -> Operation:
        asked = git_sources.request_fetch(self.cluster, actor_of(self.owner), self.training.id)
        operation = lifecycle.claim_operation(self.cluster, asked.id, "a worker")
        assert operation is not None
        return operation

    def finish(self, operation: Operation) -> None:
        order = read_fetch_order(self.cluster, operation)
        with staged_code(self.cluster.settings, self.training.workspace_id, [("a.py", b"1")]) as staged:
            git_fetches.finish_fetch(self.cluster, operation, order, COMMIT, staged, "h ssh-ed25519 AAAA\n")

    def source(self) -> GitSource:
        found = git_sources.read_source(self.cluster, self.training)
        assert found is not None
        return found


@pytest.fixture
def case(cluster: Cluster) -> Case:
    return Case(cluster)


def test_a_fetch_becomes_the_version_of_new_jobs(case: Case) -> None:
    operation = case.claim()
    case.finish(operation)
    version = read_version_commit(case.cluster, case.training.id, 1)
    assert version is not None and version.state is CodeState.READY
    assert (version.commit_id, len(version.commit_author or ""), len(version.commit_subject or "")) == (
        "c" * 40,
        200,
        500,
    )
    assert (version.origin, version.creator.id) == (f"{URL}#main:", case.owner.id)
    assert case.source().known_hosts == "h ssh-ed25519 AAAA\n"
    with pytest.raises(Conflict):
        case.finish(operation)


def test_nothing_new_and_a_failure_are_recorded(case: Case) -> None:
    case.finish(case.claim())
    git_fetches.finish_unchanged(case.cluster, case.claim(), 1, "another key")
    assert (case.source().is_found_new, case.source().known_hosts) == (False, "h ssh-ed25519 AAAA\n")
    git_fetches.record_fetch_failure(case.cluster, case.claim(), "git.too_large", {})
    operation = case.source().operation
    assert operation is not None
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "git.too_large")


def test_what_was_removed_or_is_being_unpacked_meanwhile_gets_no_version(case: Case) -> None:
    operation = case.claim()
    order = read_fetch_order(case.cluster, operation)
    git_sources.remove_source(case.cluster, actor_of(case.owner), case.training.id)
    with (
        staged_code(case.cluster.settings, case.training.workspace_id, [("a.py", b"1")]) as staged,
        pytest.raises(NotFound),
    ):
        git_fetches.finish_fetch(case.cluster, operation, order, COMMIT, staged, "")
    git_sources.set_source(case.cluster, actor_of(case.owner), case.training.id, GitSourceChoice(URL))
    operation = case.claim()
    trainings.upload_code(case.cluster, actor_of(case.owner), case.training.id, [("net.zip", b"PK")])
    with pytest.raises(Refused) as refused:
        case.finish(operation)
    assert refused.value.code == "code.being_prepared"
    with case.cluster.store.read() as session:
        assert session.get(CodeVersion, (case.training.id, 2)) is None
