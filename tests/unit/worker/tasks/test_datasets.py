"""Operations on datasets: each may run twice, leaves nothing half in its place, and says what went wrong."""

import errno
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.states import DatasetState, EnvironmentState, OperationState
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.images.environments import ensure_default_environment, load_default_environment
from cluster.services.people.users import service_actor
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from cluster.store.workspaces import Workspace
from tests.builders import a_user, a_workspace, actor_of
from worker.tasks import datasets as task
from worker.tasks.run import run_claimed

MIB = 1024**2


@dataclass(frozen=True)
class Lab:
    cluster: Cluster
    actor: Actor
    workspace_id: int

    def work(self, dataset: Dataset) -> Dataset:
        run_claimed(self.cluster, dataset.operation_id or 0)
        return datasets.read_dataset(self.cluster, self.actor, dataset.id)

    def folder(self, dataset: Dataset) -> Path:
        return folders.dataset_folder(self.cluster.settings, dataset)

    def upload(self, **files: str) -> Dataset:
        received = folders.incoming_folder(self.cluster.settings) / "upload-1"
        with zipfile.ZipFile(received, "w") as archive:
            for name, content in files.items():
                archive.writestr(name.replace("__", "/"), content)
        return datasets.create_upload(
            self.cluster, self.actor, self.workspace_id, "cells", "cells.zip", received
        )

    def ready_environment(self, path: Path) -> None:
        ensure_default_environment(self.cluster, service_actor(self.cluster), "d1", str(path))
        with self.cluster.store.write() as session:
            environment = load_default_environment(session)
            assert environment is not None
            environment.state = EnvironmentState.READY


@pytest.fixture
def lab(light_cluster: Cluster, tmp_path: Path) -> Lab:
    registered = tmp_path / "registered"
    registered.mkdir()
    settings = replace(
        light_cluster.settings, dataset_roots=(registered,), state_dir=registered.parent / "state"
    )
    cluster = replace(light_cluster, settings=settings)
    folders.ensure_storage(settings)
    manager = a_user(cluster)
    return Lab(cluster, actor_of(manager), a_workspace(cluster, manager).id)


def state_of(lab: Lab, dataset: Dataset) -> OperationState:
    with lab.cluster.store.read() as session:
        return session.get_one(Operation, dataset.operation_id).state


def test_a_registered_path_is_counted_where_it_lies(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "registered" / "set").mkdir()
    (tmp_path / "registered" / "set" / "a.txt").write_text("12345")
    path = str(tmp_path / "registered" / "set")
    dataset = datasets.register_path(lab.cluster, lab.actor, lab.workspace_id, "cells", path)
    found = lab.work(dataset)
    assert (found.state, found.files, found.bytes) == (DatasetState.READY, 1, 5)
    assert state_of(lab, dataset) is OperationState.FINISHED


def test_a_registered_path_that_is_gone_fails_with_its_reason(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "registered" / "set").mkdir()
    path = str(tmp_path / "registered" / "set")
    dataset = datasets.register_path(lab.cluster, lab.actor, lab.workspace_id, "cells", path)
    Path(path).rmdir()
    found = lab.work(dataset)
    assert (found.state, found.error_code) == (DatasetState.FAILED, "dataset.path_missing")


def test_an_upload_is_unpacked_into_its_place_and_its_archive_goes(lab: Lab) -> None:
    dataset = lab.upload(cat__1="12", dog__1="345")
    found = lab.work(dataset)
    assert (found.state, found.files, found.bytes) == (DatasetState.READY, 2, 5)
    assert (lab.folder(dataset) / "dog" / "1").read_text() == "345"
    assert not folders.incoming_archive(lab.cluster.settings, dataset.id).exists()
    assert [path.name for path in lab.folder(dataset).parent.iterdir()] == [lab.folder(dataset).name]


def test_an_upload_that_stands_in_its_place_already_is_kept(lab: Lab) -> None:
    dataset = lab.upload(a="1")
    folders.ensure_workspace_folder(lab.cluster.settings, lab.workspace_id)
    lab.folder(dataset).mkdir()
    (lab.folder(dataset) / "b").write_text("of the first try")
    assert lab.work(dataset).files == 1
    assert [path.name for path in lab.folder(dataset).iterdir()] == ["b"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_said_as_such_and_leaves_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fill(archive: Path, name: str, staging: Path, *_: Any) -> None:
        (staging / "half").write_text("x")
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(task, "unpack_upload_archive", fill)
    dataset = lab.upload(a="1")
    found = lab.work(dataset)
    assert (found.state, found.error_code) == (DatasetState.FAILED, "dataset.no_space")
    assert list(lab.folder(dataset).parent.iterdir()) == []
    assert folders.incoming_archive(lab.cluster.settings, dataset.id).exists(), "it can be tried again"


def test_samples_are_written_once_the_environment_is_ready(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environments: list[Path] = []

    def write(environment: Path, staging: Path, report: Callable[[float], None]) -> None:
        environments.append(environment)
        report(0.5)
        (staging / "digits.npz").write_bytes(b"123")

    monkeypatch.setattr(task, "write_sample_digits", write)
    dataset = datasets.create_sample(lab.cluster, lab.actor, lab.workspace_id)
    assert lab.work(dataset).state is DatasetState.PREPARING and environments == []
    assert state_of(lab, dataset) is OperationState.REQUESTED
    lab.ready_environment(tmp_path / "environment")
    found = lab.work(dataset)
    assert (found.state, found.files, found.bytes) == (DatasetState.READY, 1, 3)
    assert environments == [tmp_path / "environment"]


def test_a_deleted_dataset_takes_its_files_along_and_may_be_deleted_twice(lab: Lab) -> None:
    dataset = lab.upload(a="1")
    lab.work(dataset)
    datasets.delete_dataset(lab.cluster, lab.actor, dataset.id)
    with lab.cluster.store.read() as session:
        newest = session.query(Operation).order_by(Operation.id.desc()).limit(1).one()
    run_claimed(lab.cluster, newest.id)
    assert list(lab.folder(dataset).parent.iterdir()) == []
    with lab.cluster.store.read() as session:
        assert session.get_one(Operation, newest.id).state is OperationState.FINISHED
    task.remove_dataset_folder(lab.cluster, dataset)


def test_a_dataset_that_was_never_written_has_nothing_to_delete(lab: Lab) -> None:
    dataset = datasets.create_sample(lab.cluster, lab.actor, lab.workspace_id)
    task.remove_dataset_folder(lab.cluster, dataset)
    assert not lab.folder(dataset).exists()


def test_a_finished_folder_is_given_to_its_workspace(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(
        task.folders,
        "give_to_group",
        lambda settings, opened, workspace_id: given.append((os.fstat(opened).st_ino, workspace_id)),
    )
    dataset = lab.upload(a="1")
    (tmp_path / "unpacked").mkdir()
    parent = os.open(tmp_path, os.O_RDONLY)
    try:
        task.give_to_workspace(lab.cluster, dataset, parent, "unpacked")
    finally:
        os.close(parent)
    assert given == [((tmp_path / "unpacked").stat().st_ino, lab.workspace_id)]


def test_an_import_whose_dataset_was_deleted_says_so(lab: Lab) -> None:
    dataset = lab.upload(cat="x")
    datasets.delete_dataset(lab.cluster, lab.actor, dataset.id)
    run_claimed(lab.cluster, dataset.operation_id or 0)
    with lab.cluster.store.read() as session:
        operation = session.get_one(Operation, dataset.operation_id)
    assert (operation.state, operation.error_code) == (OperationState.FAILED, "operation.subject_deleted")


def test_an_archive_that_unpacks_to_more_than_its_workspace_may_store_is_refused(lab: Lab) -> None:
    with lab.cluster.store.write() as session:
        workspace = session.get_one(Workspace, lab.workspace_id)
        workspace.storage_limit_bytes, workspace.storage_used_bytes = 10 * MIB, 8 * MIB
    failed = lab.work(lab.upload(**{"a.txt": "x" * 3 * MIB}))
    assert (failed.state, failed.error_code) == (DatasetState.FAILED, "storage.unpacked_no_room")
    assert (failed.error_data or {})["limit"] == 10 * MIB and not lab.folder(failed).exists()
    assert lab.work(lab.upload(**{"a.txt": "x" * MIB})).state is DatasetState.READY
