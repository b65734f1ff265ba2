"""Versions of code: each begins with the one before, none changes, and two people do not overwrite each other."""

from pathlib import Path
from typing import Any

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeState, TrainingKind, Visibility
from cluster.services import code_uploads, code_versions, trainings
from cluster.services.context import Cluster
from cluster.services.jobs.submission import submit_job
from cluster.services.storage import folders, staged_code
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import WorkspaceMember
from tests.builders import a_node, a_user, a_workspace, actor_of

CODE = [("train.py", b"print(1)\n"), ("net/conv.py", b"x = 1\n"), ("net/pool.py", b"y = 1\n")]


@pytest.fixture
def owner(cluster: Cluster) -> Actor:
    return actor_of(a_user(cluster))


@pytest.fixture
def training(cluster: Cluster, owner: Actor) -> Training:
    with cluster.store.read() as session:
        person = session.get_one(User, owner.user_id)
    workspace = a_workspace(cluster, person)
    return trainings.create_training(
        cluster, owner, workspace.id, "mine", "", TrainingKind.ADVANCED, None, Visibility.PUBLIC, CODE
    )


def folder_of(cluster: Cluster, training: Training, number: int) -> Path:
    return folders.code_folder(cluster.settings, training.workspace_id, training.id, number)


def paths_of(cluster: Cluster, training: Training, number: int) -> list[str]:
    return [file.path for file in code_versions.read_manifest(cluster, training, number)]


def test_a_new_version_keeps_what_is_not_uploaded_again(
    cluster: Cluster, owner: Actor, training: Training
) -> None:
    made = trainings.upload_code(cluster, owner, training.id, [("net/conv.py", b"x = 2\n")])
    assert (made.number, made.state, made.base, made.files) == (2, CodeState.READY, 1, 3)
    first, second = folder_of(cluster, training, 1), folder_of(cluster, training, 2)
    assert (second / "train.py").read_bytes() == b"print(1)\n"
    assert (second / "net/conv.py").read_bytes() == b"x = 2\n"
    assert (first / "net/conv.py").read_bytes() == b"x = 1\n"
    assert not list(first.parent.parent.glob(".*"))


def test_files_and_folders_are_removed_on_purpose(cluster: Cluster, owner: Actor, training: Training) -> None:
    trainings.upload_code(cluster, owner, training.id, [], ["net"])
    assert paths_of(cluster, training, 2) == ["train.py"]
    assert paths_of(cluster, training, 1) == ["net/conv.py", "net/pool.py", "train.py"]
    assert not (folder_of(cluster, training, 2) / "net").exists()


def test_who_knows_an_older_version_only_is_refused(
    cluster: Cluster, owner: Actor, training: Training
) -> None:
    trainings.upload_code(cluster, owner, training.id, [("a.py", b"1")], base=1)
    with pytest.raises(Conflict) as conflict:
        trainings.upload_code(cluster, owner, training.id, [("b.py", b"1")], base=1)
    assert conflict.value.code == "code.changed_since"
    assert code_versions.read_newest_number(cluster, training.id) == 2


def test_an_upload_that_was_overtaken_begins_with_the_other_one_s_files(
    cluster: Cluster, owner: Actor, training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, faster = code_uploads.plan_upload, []

    def plan_overtaken(*asked: Any) -> Any:
        if not faster:
            faster.append("b.py")
            trainings.upload_code(cluster, owner, training.id, [("b.py", b"1")])
        return plan(*asked)

    monkeypatch.setattr(code_uploads, "plan_upload", plan_overtaken)
    made = trainings.upload_code(cluster, owner, training.id, [("a.py", b"1")])
    assert (made.number, made.base) == (3, 2)
    assert paths_of(cluster, training, 3) == ["a.py", "b.py", "net/conv.py", "net/pool.py", "train.py"]


def test_only_owners_and_managers_upload(cluster: Cluster, owner: Actor, training: Training) -> None:
    member = a_user(cluster)
    with cluster.store.write() as session:
        session.add(WorkspaceMember(workspace_id=training.workspace_id, user_id=member.id))
    with pytest.raises(Forbidden):
        trainings.upload_code(cluster, actor_of(member), training.id, CODE)
    with pytest.raises(NotFound):
        trainings.upload_code(cluster, actor_of(a_user(cluster)), training.id, CODE)


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ([("../train.py", b"1")], "file.no_name"),
        ([("net.zip", b"PK"), ("train.py", b"1")], "code.archive_alone"),
        ([("train.py/a", b"1")], "code.file_and_folder"),
        ([("big.bin", b"0" * (20 * 1024**2))], "code.too_large"),
    ],
)
def test_a_refused_upload_leaves_nothing(
    cluster: Cluster, owner: Actor, training: Training, code: list[tuple[str, bytes]], refused: str
) -> None:
    with pytest.raises(Refused) as refusal:
        trainings.upload_code(cluster, owner, training.id, code)
    assert refusal.value.code == refused
    assert code_versions.read_newest_number(cluster, training.id) == 1
    assert [path.name for path in folder_of(cluster, training, 1).parent.iterdir()] == ["1"]


def test_an_upload_waits_for_the_archive_that_is_being_unpacked(
    cluster: Cluster, owner: Actor, training: Training
) -> None:
    made = trainings.upload_code(cluster, owner, training.id, [("net.zip", b"PK")])
    assert (made.number, made.state, made.origin) == (2, CodeState.PREPARING, "net.zip")
    assert folders.incoming_code(cluster.settings, training.id, 2).read_bytes() == b"PK"
    assert code_versions.read_newest_number(cluster, training.id) == 1
    with pytest.raises(Refused) as refusal:
        trainings.upload_code(cluster, owner, training.id, [("a.py", b"1")])
    assert refusal.value.code == "code.being_prepared"


def test_any_ready_version_can_be_run(cluster: Cluster, owner: Actor, training: Training) -> None:
    a_node(cluster, 2)
    trainings.upload_code(cluster, owner, training.id, [("train.py", b"2")])
    newest = submit_job(cluster, owner, training.id, JobRequest("a", 1, command=("train.py",)))
    older = submit_job(cluster, owner, training.id, JobRequest("b", 1, command=("train.py",), code_version=1))
    assert (newest.code_version, older.code_version) == (2, 1)
    trainings.upload_code(cluster, owner, training.id, [("net.zip", b"PK")])
    for number in (3, 4):
        with pytest.raises(Refused) as refusal:
            request = JobRequest("c", 1, command=("train.py",), code_version=number)
            submit_job(cluster, owner, training.id, request)
        assert (refusal.value.field, refusal.value.code) == ("code_version", "code.no_such_version")


def test_code_of_an_older_installation_is_read_from_its_folder(
    cluster: Cluster, owner: Actor, training: Training
) -> None:
    with cluster.store.write() as session:
        version = session.get_one(code_versions.CodeVersion, (training.id, 1))
        version.manifest = None
    with pytest.raises(NotFound):  # Such code has no folders in it.
        code_versions.read_manifest(cluster, training, 1)
    staged_code.write_code(
        cluster.settings, folder_of(cluster, training, 1), [("train.py", b"1")], training.workspace_id
    )
    assert paths_of(cluster, training, 1) == ["train.py"]
    made = trainings.upload_code(cluster, owner, training.id, [("b.py", b"1")])
    assert made.files == 2
