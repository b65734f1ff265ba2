"""The files of a dataset are found in its folder, and read as far as a person's own job may read them."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.states import DatasetKind, DatasetState
from cluster.files.safe_read import FileReader
from cluster.services.context import Cluster
from cluster.services.datasets import read_dataset_files
from cluster.services.storage import folders
from cluster.services.storage.dataset_files import DatasetFiles
from tests.builders import a_dataset, a_user, a_workspace, actor_of


@pytest.mark.parametrize(("is_root", "service_user"), [(False, ""), (True, ""), (False, "groundcrew")])
def test_a_registered_folder_is_read_for_a_job_unless_jobs_are_the_portals_user(
    cluster: Cluster, is_root: bool, service_user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "IS_ROOT", is_root)
    shared = (tmp_path / "shared").resolve()
    settings = replace(
        cluster.settings, dataset_roots=(shared,), state_dir=tmp_path / "state", service_user=service_user
    )
    member = a_user(cluster)
    workspace = a_workspace(cluster, members=(member,))
    (shared / "cells").mkdir(parents=True)
    dataset = a_dataset(cluster, workspace, kind=DatasetKind.PATH, path=str(shared / "cells"))
    _, files = read_dataset_files(replace(cluster, settings=settings), actor_of(member), dataset.id)
    ids = settings.job_ids
    job = FileReader(ids.uid_of(member.id), ids.gid_of(workspace.id))
    reader = job if is_root or service_user else None
    assert files == DatasetFiles(Path("/"), (*shared.parts[1:], "cells"), reader)


def test_files_of_our_own_storage_are_the_workspaces(cluster: Cluster) -> None:
    member = a_user(cluster)
    dataset = a_dataset(cluster, a_workspace(cluster, members=(member,)))
    _, files = read_dataset_files(cluster, actor_of(member), dataset.id)
    assert files.root.joinpath(*files.top) == folders.dataset_folder(cluster.settings, dataset)
    assert files.reader is None


def test_only_members_read_and_only_what_is_ready(cluster: Cluster) -> None:
    member = a_user(cluster)
    dataset = a_dataset(cluster, a_workspace(cluster, members=(member,)), state=DatasetState.PREPARING)
    with pytest.raises(Conflict, match="dataset.not_ready"):
        read_dataset_files(cluster, actor_of(member), dataset.id)
    with pytest.raises(NotFound):
        read_dataset_files(cluster, actor_of(a_user(cluster)), dataset.id)
