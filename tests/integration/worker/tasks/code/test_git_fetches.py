"""A pull becomes a version with its commit, says when nothing is new, and its failure is read on the page."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cluster import words
from cluster.domain.states import CodeSource, GitCredential, OperationState, TrainingKind
from cluster.services import code_versions, trainings
from cluster.services.context import Cluster
from cluster.services.git import git_sources
from cluster.services.git.fetched_versions import read_version_commit
from cluster.services.git.git_sources import GitSourceChoice
from cluster.services.operations.retries import retry_operation
from cluster.store.operations import Operation
from cluster.store.trainings import GitSource, Training
from cluster.store.users import User
from tests.builders import a_training, a_user, a_workspace, actor_of
from tests.integration.worker.git.git_server import TOKEN, GitServer, serve_git
from worker.tasks.code import git_fetches
from worker.tasks.run import run_claimed


@dataclass
class Lab:
    cluster: Cluster
    server: GitServer
    owner: User
    training: Training

    def set(self, name: str, **fields: object) -> None:
        choice = GitSourceChoice(self.server.url(name), **fields)  # type: ignore[arg-type]
        git_sources.set_source(self.cluster, actor_of(self.owner), self.training.id, choice)

    def pull(self) -> Operation:
        operation = git_sources.request_fetch(self.cluster, actor_of(self.owner), self.training.id)
        return self.run(operation.id)

    def run(self, operation_id: int) -> Operation:
        run_claimed(self.cluster, operation_id)
        with self.cluster.store.read() as session:
            return session.get_one(Operation, operation_id)

    def source(self) -> GitSource:
        found = git_sources.read_source(self.cluster, self.training)
        assert found is not None
        return found

    def paths(self, number: int) -> list[str]:
        manifest = code_versions.read_manifest(self.cluster, self.training, number)
        return [file.path for file in manifest]


@pytest.fixture
def lab(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    folder = Path(tempfile.mkdtemp(prefix="gc-git-server-"))
    try:
        with serve_git(folder) as server:
            settings = replace(light_cluster.settings, git_hosts=(server.host,))
            cluster = replace(light_cluster, settings=settings)
            usual = git_fetches.fetch_rules
            monkeypatch.setattr(
                git_fetches,
                "fetch_rules",
                lambda *args: replace(usual(*args), authority=server.authority),
            )
            owner = a_user(cluster)
            training = a_training(
                cluster, a_workspace(cluster, owner), owner, kind=TrainingKind.ADVANCED, code_version=0
            )
            yield Lab(cluster, server, owner, training)
    finally:
        shutil.rmtree(folder)


def test_a_pull_makes_versions_and_says_when_nothing_is_new(lab: Lab) -> None:
    origin = lab.server.make_origin("net")
    first = origin.commit({"train.py": b"1\n", "old.py": b"1\n"}, "First")
    lab.set("net")
    assert lab.pull().state is OperationState.FINISHED
    version = code_versions.read_ready_version(lab.cluster, lab.training, 1)
    assert (version.source, version.commit_id, version.commit_subject) == (CodeSource.GIT, first, "First")
    assert version.commit_author == "Kim Minji" and version.creator.name == lab.owner.name
    assert (lab.source().found_version, lab.source().is_found_new) == (1, True)
    assert lab.pull().state is OperationState.FINISHED
    assert (lab.source().found_version, lab.source().is_found_new) == (1, False)
    assert code_versions.read_newest_number(lab.cluster, lab.training.id) == 1
    (origin.path / "old.py").unlink()
    origin.commit({"train.py": b"2\n"}, "Second")
    lab.pull()
    assert lab.paths(2) == ["train.py"] and lab.paths(1) == ["old.py", "train.py"]
    commit = read_version_commit(lab.cluster, lab.training.id, 2)
    assert commit is not None and commit.commit_subject == "Second"


def test_another_folder_of_the_same_commit_is_another_version(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n", "src/a.py": b"2\n"})
    lab.set("net")
    lab.pull()
    lab.set("net", folder="src", reference="main")
    lab.pull()
    assert (lab.paths(1), lab.paths(2)) == (["src/a.py", "train.py"], ["a.py"])


def test_a_failure_has_a_sentence_in_both_languages_and_can_be_tried_again(lab: Lab) -> None:
    origin = lab.server.make_origin("private")
    origin.commit({"train.py": b"1\n"})
    lab.set("private", credential=GitCredential.TOKEN, token="wrong-token-of-somebody")
    failed = lab.pull()
    assert (failed.state, failed.error_code) == (OperationState.FAILED, "git.not_authorised")
    for language in ("en", "ko"):
        sentence = words.sentence(failed.error_code or "", failed.error_data or {}, language)
        assert "wrong-token" not in sentence and "…" not in sentence and "git." not in sentence
    assert "wrong-token" not in str(failed.error_data)
    assert code_versions.read_newest_number(lab.cluster, lab.training.id) == 0
    lab.set("private", credential=GitCredential.TOKEN, token=TOKEN)
    retry_operation(lab.cluster, actor_of(lab.owner), failed.id)
    assert lab.run(failed.id).state is OperationState.FINISHED
    assert lab.paths(1) == ["train.py"]
    assert lab.server.secrets_seen == []


def test_a_person_s_version_that_came_meanwhile_stays(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    lab.set("net")
    operation = git_sources.request_fetch(lab.cluster, actor_of(lab.owner), lab.training.id)
    trainings.upload_code(lab.cluster, actor_of(lab.owner), lab.training.id, [("mine.py", b"2\n")])
    lab.run(operation.id)
    assert (lab.paths(1), lab.paths(2)) == (["mine.py"], ["train.py"])


def test_a_loopback_host_that_is_not_named_is_refused(lab: Lab) -> None:
    lab.server.make_origin("net").commit({"train.py": b"1\n"})
    lab.set("net")
    closed = replace(lab.cluster, settings=replace(lab.cluster.settings, git_hosts=()))
    operation = git_sources.request_fetch(lab.cluster, actor_of(lab.owner), lab.training.id)
    run_claimed(closed, operation.id)
    with lab.cluster.store.read() as session:
        assert session.get_one(Operation, operation.id).error_code == "git.host_not_allowed"
    assert lab.server.requests == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights away")
def test_a_workspace_s_numbers_belong_to_none_of_its_people(lab: Lab) -> None:
    ids = lab.cluster.settings.job_ids.for_fetch(lab.training.workspace_id)
    known = lab.cluster.settings.job_ids
    assert ids.uid != known.uid_of(lab.owner.id) and ids.gid != known.gid_of(lab.training.workspace_id)
