"""Trainings are created, changed and seen by those who may."""

from typing import Any

import pytest

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.store.trainings import Training
from tests.builders import a_training, a_user, a_workspace, actor_of, an_administrator

CODE = [("train.py", b"print(1)\n"), ("net.py", b"x = 1\n")]


def create(cluster: Cluster, actor: Actor, workspace_id: int, **changes: Any) -> Training:
    values: dict[str, Any] = {
        "name": "mine",
        "description": "",
        "kind": TrainingKind.ADVANCED,
        "model": None,
        "visibility": Visibility.PUBLIC,
        "code": CODE,
    }
    return trainings.create_training(cluster, actor, workspace_id, **{**values, **changes})


def test_code_lies_unchanged_by_version(cluster: Cluster) -> None:
    member = a_user(cluster)
    workspace = a_workspace(cluster, members=(member,))
    actor = actor_of(member)
    training = create(cluster, actor, workspace.id)
    trainings.upload_code(cluster, actor, training.id, [("train.py", b"print(2)\n")])
    first = folders.code_folder(cluster.settings, workspace.id, training.id, 1)
    second = folders.code_folder(cluster.settings, workspace.id, training.id, 2)
    assert (first / "train.py").read_bytes() == b"print(1)\n"
    assert (second / "train.py").read_bytes() == b"print(2)\n"
    found = trainings.read_training(cluster, actor, training.id)
    assert trainings.list_code_files(cluster, found) == [("net.py", 6), ("train.py", 9)]


def test_a_built_in_training_has_no_code(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    training = create(cluster, actor_of(manager), workspace.id, kind=TrainingKind.BUILT_IN, model="lenet")
    assert training.code_version == 0
    assert trainings.list_code_files(cluster, training) == []
    with pytest.raises(Refused) as refusal:
        trainings.upload_code(cluster, actor_of(manager), training.id, CODE)
    assert refusal.value.code == "code.built_in_has_none"


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"name": "Über"}, "name", "name.bad_character"),
        ({"name": ""}, "name", "name.missing"),
        ({"description": "x" * 501}, "description", "text.too_long"),
        ({"kind": TrainingKind.BUILT_IN, "model": "alexnet"}, "model", "model.unknown"),
        ({"code": []}, "code", "code.missing"),
        ({"code": [("a b.py", b"")]}, "code", "file.space"),
        ({"code": [("../a.py", b"")]}, "code", "file.no_name"),
        ({"code": [("a.py", b""), ("a.py", b"")]}, "code", "code.twice"),
        ({"code": [(f"f{i}.py", b"") for i in range(1001)]}, "code", "code.too_many_files"),
        ({"code": [("train.py", b""), ("big.bin", bytes(20 * 1024**2 + 1))]}, "code", "code.too_large"),
        ({"member_names": ["nobody-here"]}, "members", "user.not_in_workspace"),
    ],
)
def test_bad_input_names_the_field_and_leaves_nothing(
    cluster: Cluster, changes: dict[str, Any], field: str, code: str
) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    with pytest.raises(Refused) as refusal:
        create(cluster, actor_of(manager), workspace.id, **changes)
    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert trainings.list_trainings(cluster, actor_of(manager)) == []


def test_a_name_is_given_once_in_a_workspace(cluster: Cluster) -> None:
    manager = a_user(cluster)
    here, there = a_workspace(cluster, manager), a_workspace(cluster, manager)
    create(cluster, actor_of(manager), here.id)
    create(cluster, actor_of(manager), there.id)
    with pytest.raises(Refused) as refusal:
        create(cluster, actor_of(manager), here.id)
    assert refusal.value.code == "name.taken"
    assert len(trainings.list_trainings(cluster, actor_of(manager), here.id)) == 1


def test_a_private_training_is_seen_by_those_it_names(cluster: Cluster) -> None:
    manager, owner, named, other, stranger = (a_user(cluster) for _ in range(5))
    workspace = a_workspace(cluster, manager, members=(owner, named, other))
    training = create(
        cluster, actor_of(owner), workspace.id, visibility=Visibility.PRIVATE, member_names=[named.name, ""]
    )
    for person in (owner, named, manager, an_administrator(cluster)):
        assert trainings.read_training(cluster, actor_of(person), training.id).id == training.id
    for person in (other, stranger):
        assert trainings.list_trainings(cluster, actor_of(person)) == []
        with pytest.raises(NotFound):
            trainings.read_training(cluster, actor_of(person), training.id)


def test_code_is_changed_by_the_owner_and_those_above(cluster: Cluster) -> None:
    manager, owner, other = (a_user(cluster) for _ in range(3))
    workspace = a_workspace(cluster, manager, members=(owner, other))
    training = create(cluster, actor_of(owner), workspace.id)
    with pytest.raises(Forbidden):
        trainings.upload_code(cluster, actor_of(other), training.id, CODE)
    assert trainings.upload_code(cluster, actor_of(manager), training.id, CODE).number == 2


def test_nothing_is_made_in_an_expired_workspace(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager, ended_at=cluster.clock())
    training = a_training(cluster, workspace, kind=TrainingKind.ADVANCED)
    with pytest.raises(Refused) as refusal:
        create(cluster, actor_of(manager), workspace.id)
    assert refusal.value.code == "workspace.expired"
    with pytest.raises(Refused):
        trainings.upload_code(cluster, actor_of(manager), training.id, CODE)
    assert trainings.read_training(cluster, actor_of(manager), training.id).name == training.name


def test_a_foreign_workspace_does_not_exist(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    with pytest.raises(NotFound):
        create(cluster, actor_of(a_user(cluster)), workspace.id)
