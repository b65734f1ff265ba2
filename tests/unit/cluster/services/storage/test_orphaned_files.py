"""Files without a row go a day later; files of rows, and what is on its way in, stay."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.states import TrainingKind
from cluster.services.context import Cluster
from cluster.services.storage import folders as storage
from cluster.services.storage import orphaned_files, staged_code
from tests.builders import a_dataset, a_training, a_workspace


def touched(cluster: Cluster, path: Path, ago: timedelta) -> Path:
    moment = (cluster.clock() - ago).timestamp()
    os.utime(path, (moment, moment))
    return path


@pytest.mark.parametrize(
    ("name", "ago", "stays"),
    [
        ("upload-0011223344556677", timedelta(hours=23), True),
        ("upload-0011223344556677", timedelta(hours=25), False),
        ("dataset-999", timedelta(hours=23), True),
        ("dataset-999", timedelta(hours=25), False),
        ("dataset-of-somebody", timedelta(days=100), True),
    ],
)
def test_archives_that_nobody_took_in(light_cluster: Cluster, name: str, ago: timedelta, stays: bool) -> None:
    path = storage.incoming_folder(light_cluster.settings) / name
    path.touch()
    touched(light_cluster, path, ago)
    assert orphaned_files.delete_orphaned_archives(light_cluster) == (not stays)
    assert path.exists() == stays


def test_the_archive_of_a_dataset_stays_however_long_its_import_waits(light_cluster: Cluster) -> None:
    dataset = a_dataset(light_cluster, a_workspace(light_cluster))
    path = storage.incoming_archive(light_cluster.settings, dataset.id)
    path.touch()
    touched(light_cluster, path, timedelta(days=30))
    assert orphaned_files.delete_orphaned_archives(light_cluster) == 0
    assert path.exists()


def test_code_of_a_training_that_was_never_made(light_cluster: Cluster) -> None:
    workspace = a_workspace(light_cluster)
    training = a_training(light_cluster, workspace, kind=TrainingKind.ADVANCED)
    folders = {}
    for number in (training.id, 998, 999):
        folder = storage.code_folder(light_cluster.settings, workspace.id, number, 1)
        staged_code.write_code(light_cluster.settings, folder, [("train.py", b"1")], workspace.id)
        folders[number] = touched(light_cluster, folder.parent, timedelta(hours=23 if number == 998 else 25))
    assert orphaned_files.delete_orphaned_code(light_cluster, workspace.id) == 1
    assert [folder.exists() for folder in folders.values()] == [True, True, False]


def test_a_workspace_without_code_has_no_leftovers(light_cluster: Cluster) -> None:
    assert orphaned_files.delete_orphaned_code(light_cluster, 1) == 0
