"""Datasets are uploaded, registered, shown and deleted by those who may."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.states import DatasetKind, DatasetState, JobState
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle, queries, retries
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from tests.builders import a_dataset, a_job, a_training, a_user, a_workspace, actor_of
from tests.conftest import RecordingBell


def an_archive(cluster: Cluster, content: bytes = b"PK") -> Path:
    path = folders.incoming_folder(cluster.settings) / "received"
    path.write_bytes(content)
    return path


def finish(cluster: Cluster, dataset: Dataset, classes: list[tuple[str, int]] | None = None) -> None:
    assert dataset.operation_id is not None
    operation = lifecycle.claim_operation(cluster, dataset.operation_id, "a worker")
    assert operation is not None
    assert datasets.read_dataset_of_operation(cluster, operation).id == dataset.id
    datasets.finish_import(cluster, operation.id, operation.fence, 2, 1234, classes)


def test_an_upload_is_taken_in_and_becomes_ready(cluster: Cluster, bell: RecordingBell) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    received = an_archive(cluster)
    dataset = datasets.create_upload(cluster, actor_of(manager), workspace.id, "cells", "cells.zip", received)
    assert not received.exists()
    assert folders.incoming_archive(cluster.settings, dataset.id).read_bytes() == b"PK"
    assert ("general", dataset.operation_id) in bell.enqueued
    finish(cluster, dataset, [("cat", 1), ("dog", 1)])
    found = datasets.read_dataset(cluster, actor_of(manager), dataset.id)
    assert (found.state, found.files, found.bytes) == (DatasetState.READY, 2, 1234)
    assert found.classes == [["cat", 1], ["dog", 1]]


@pytest.mark.parametrize(
    ("name", "archive", "field", "code"),
    [
        ("Cells", "cells.zip", "name", "name.bad_character"),
        ("cells", "cells.rar", "archive", "archive.unknown_kind"),
        ("cells", "", "archive", "archive.unknown_kind"),
    ],
)
def test_a_bad_upload_is_refused_and_its_file_is_left_alone(
    cluster: Cluster, name: str, archive: str, field: str, code: str
) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    received = an_archive(cluster)
    with pytest.raises(Refused) as refusal:
        datasets.create_upload(cluster, actor_of(manager), workspace.id, name, archive, received)
    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert received.exists()


@pytest.mark.parametrize(
    ("archive", "kept"),
    [("my cells.zip", "my_cells.zip"), ("셀?.ZIP", "sel_.ZIP"), ("n" * 300 + ".zip", "n" * 251 + ".zip")],
)
def test_the_archives_own_name_refuses_nothing(cluster: Cluster, archive: str, kept: str) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    received = an_archive(cluster)
    dataset = datasets.create_upload(cluster, actor_of(manager), workspace.id, "cells", archive, received)
    assert dataset.archive == kept


@pytest.mark.parametrize(
    ("archive", "name"),
    [
        ("큰 데이터.tar.gz", "keun-deiteo"),
        ("MNIST v2.zip", "mnist-v2"),
        ("digits", "digits"),
        ("???.zip", ""),
    ],
)
def test_a_name_is_proposed_from_the_archive(archive: str, name: str) -> None:
    assert datasets.suggest_dataset_name(archive) == name


def test_an_upload_is_checked_as_a_whole_before_it_is_sent(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    datasets.check_upload(cluster, actor_of(manager), workspace.id, "cells", "cells.zip", 1000)
    too_large = cluster.settings.upload_limit_bytes + 1
    with pytest.raises(Refused) as refusal:
        datasets.check_upload(cluster, actor_of(manager), workspace.id, "Cells", "cells.rar", too_large)
    assert [(each.field, each.code) for each in refusal.value.each] == [
        ("name", "name.bad_character"),
        ("archive", "archive.unknown_kind"),
    ]
    datasets.create_sample(cluster, actor_of(manager), workspace.id)
    with pytest.raises(Refused) as refusal:
        datasets.check_upload(cluster, actor_of(manager), workspace.id, "digits", "", 0)
    assert (refusal.value.code, refusal.value.data["repaired"]) == ("name.taken", "digits-2")


def fail(cluster: Cluster, dataset: Dataset, code: str = "file.hangul") -> None:
    operation = lifecycle.claim_operation(cluster, dataset.operation_id or 0, "a worker")
    assert operation is not None
    data = {"file": "원", "repaired": "weon"}
    datasets.fail_import(cluster, operation.id, operation.fence, code, data)


def test_a_failed_dataset_frees_its_name_and_cannot_take_it_back(cluster: Cluster) -> None:
    actor, member = actor_of(manager := a_user(cluster)), a_user(cluster)
    workspace = a_workspace(cluster, manager, members=(member,))
    first = datasets.create_upload(cluster, actor, workspace.id, "cells", "a.zip", an_archive(cluster))
    fail(cluster, first)
    other = actor_of(member)
    second = datasets.create_upload(cluster, other, workspace.id, "cells", "b.zip", an_archive(cluster))
    assert second.name == first.name
    with pytest.raises(Conflict) as conflict:
        retries.retry_operation(cluster, actor, first.operation_id or 0)
    assert conflict.value.code == "dataset.name_in_use"


def test_an_archive_that_failed_at_a_name_is_unpacked_with_latin_names(
    cluster: Cluster, bell: RecordingBell
) -> None:
    manager, member = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, manager, members=(member,))
    actor = actor_of(manager)
    dataset = datasets.create_upload(cluster, actor, workspace.id, "shapes", "a.zip", an_archive(cluster))
    fail(cluster, dataset)
    assert datasets.list_suggested_names(datasets.read_dataset(cluster, actor, dataset.id)) == [
        ("원", "weon")
    ]
    with pytest.raises(Forbidden):
        datasets.unpack_with_latin_names(cluster, actor_of(member), dataset.id)
    bell.enqueued.clear()
    datasets.unpack_with_latin_names(cluster, actor, dataset.id)
    again = datasets.read_dataset(cluster, actor, dataset.id)
    assert (again.state, again.has_latin_names) == (DatasetState.PREPARING, True)
    assert ("general", dataset.operation_id) in bell.enqueued
    fail(cluster, again)
    with pytest.raises(Conflict):
        datasets.unpack_with_latin_names(cluster, actor, dataset.id)


def test_a_name_is_free_again_once_its_dataset_is_deleted(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    first = datasets.create_sample(cluster, actor_of(manager), workspace.id)
    second = datasets.create_sample(cluster, actor_of(manager), workspace.id)
    assert (first.name, second.name) == ("digits", "digits-2")
    datasets.delete_dataset(cluster, actor_of(manager), first.id)
    assert datasets.create_sample(cluster, actor_of(manager), workspace.id).name == "digits"
    with pytest.raises(NotFound):
        datasets.read_dataset(cluster, actor_of(manager), first.id)
    with pytest.raises(Refused) as refusal:
        datasets.create_upload(
            cluster, actor_of(manager), workspace.id, "digits-2", "a.zip", an_archive(cluster)
        )
    assert refusal.value.code == "name.taken"


def test_a_path_is_registered_only_beneath_the_roots(cluster: Cluster, tmp_path: Path) -> None:
    manager, member = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, manager, members=(member,))
    root = tmp_path / "data"
    (root / "cells").mkdir(parents=True)
    (root / "out").symlink_to("/etc")
    rooted = replace(
        cluster, settings=replace(cluster.settings, dataset_roots=(root,), state_dir=tmp_path / "state")
    )
    wrong = {
        "cells": "dataset.path_not_absolute",
        "/etc": "dataset.path_outside_roots",
        f"{root}/../..": "dataset.path_outside_roots",
        f"{root}/out": "dataset.path_outside_roots",
        f"{root}/none": "dataset.path_missing",
        f"{root}/\0": "dataset.path_not_absolute",
    }
    for path, code in wrong.items():
        with pytest.raises(Refused) as refusal:
            datasets.register_path(rooted, actor_of(manager), workspace.id, "cells", path)
        assert (refusal.value.field, refusal.value.code) == ("path", code), path
    with pytest.raises(Forbidden):
        datasets.register_path(rooted, actor_of(member), workspace.id, "cells", f"{root}/cells")
    dataset = datasets.register_path(rooted, actor_of(manager), workspace.id, "cells", f"{root}/cells")
    assert (dataset.kind, folders.dataset_folder(cluster.settings, dataset)) == (
        DatasetKind.PATH,
        root / "cells",
    )


def test_a_registered_path_is_forgotten_without_touching_it(cluster: Cluster, bell: RecordingBell) -> None:
    workspace = a_workspace(cluster)
    dataset = a_dataset(cluster, workspace, kind=DatasetKind.PATH, path="/data/cells")
    datasets.delete_dataset(cluster, actor_of(workspace.manager), dataset.id)
    assert bell.enqueued == []


def test_a_dataset_that_a_job_reads_stays(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    dataset = a_dataset(cluster, workspace)
    training = a_training(cluster, workspace)
    a_job(cluster, training, state=JobState.FINISHED, dataset_id=dataset.id)
    living = a_job(cluster, training, state=JobState.RUNNING, dataset_id=dataset.id)
    with pytest.raises(Refused) as refusal:
        datasets.delete_dataset(cluster, actor_of(workspace.manager), dataset.id)
    assert refusal.value.data["jobs"] == 1
    users = datasets.list_reading_jobs(cluster, actor_of(workspace.manager), dataset.id)
    assert [job.id for job in users] == [living.id, living.id - 1]


def test_only_its_maker_and_those_above_delete_a_dataset(cluster: Cluster) -> None:
    maker, other = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, members=(maker, other))
    dataset = datasets.create_sample(cluster, actor_of(maker), workspace.id)
    with pytest.raises(Forbidden):
        datasets.delete_dataset(cluster, actor_of(other), dataset.id)
    with pytest.raises(NotFound):
        datasets.delete_dataset(cluster, actor_of(a_user(cluster)), dataset.id)
    datasets.delete_dataset(cluster, actor_of(maker), dataset.id)
    assert datasets.list_datasets(cluster, actor_of(maker), workspace.id) == []


def test_deleted_files_go_by_an_operation(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    actor = actor_of(workspace.manager)
    dataset = datasets.create_sample(cluster, actor, workspace.id)
    datasets.delete_dataset(cluster, actor, dataset.id)
    newest = queries.list_operations(cluster, actor)[0]
    claimed = lifecycle.claim_operation(cluster, newest.id, "a worker")
    assert claimed is not None
    lifecycle.finish_claimed_operation(cluster, claimed)
    assert queries.read_operation(cluster, actor, newest.id).progress == 1.0


def test_a_foreign_workspace_takes_no_dataset(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    with pytest.raises(NotFound):
        datasets.create_sample(cluster, actor_of(a_user(cluster)), workspace.id)
    expired = a_workspace(cluster, ended_at=cluster.clock())
    with pytest.raises(Refused):
        datasets.create_sample(cluster, actor_of(expired.manager), expired.id)


def test_a_failed_dataset_does_not_keep_its_name(cluster: Cluster, bell: RecordingBell) -> None:
    member, other = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, members=(member, other))
    failed = datasets.create_upload(
        cluster, actor_of(member), workspace.id, "cells", "cells.zip", an_archive(cluster)
    )
    operation = lifecycle.claim_operation(cluster, failed.operation_id or 0, "a worker")
    assert operation is not None
    datasets.fail_import(cluster, operation.id, operation.fence, "archive.empty", {})
    theirs = datasets.create_upload(
        cluster, actor_of(other), workspace.id, "cells", "cells.zip", an_archive(cluster)
    )
    listed = {each.id for each in datasets.list_datasets(cluster, actor_of(member))}
    assert listed == {failed.id, theirs.id}, "it is not theirs to delete"
    datasets.delete_dataset(cluster, actor_of(other), theirs.id)
    again = datasets.create_upload(
        cluster, actor_of(member), workspace.id, "cells", "cells.zip", an_archive(cluster)
    )
    assert [each.id for each in datasets.list_datasets(cluster, actor_of(member))] == [again.id]
    asked = [each.kind for each in queries.list_operations(cluster, actor_of(member))]
    assert asked == ["dataset.import", *["dataset.delete"] * 2, *["dataset.import"] * 2]
    with pytest.raises(Refused):
        datasets.create_upload(
            cluster, actor_of(member), workspace.id, "cells", "cells.zip", an_archive(cluster)
        )


def test_a_failed_dataset_that_a_job_waits_for_stays_beside_one_of_its_name(cluster: Cluster) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager)
    failed = a_dataset(cluster, workspace, name="cells", state=DatasetState.FAILED)
    a_job(cluster, a_training(cluster, workspace, manager), dataset_id=failed.id)
    made = datasets.create_upload(
        cluster, actor_of(manager), workspace.id, "cells", "cells.zip", an_archive(cluster)
    )
    listed = [each.id for each in datasets.list_datasets(cluster, actor_of(manager))]
    assert listed == [made.id, failed.id]
