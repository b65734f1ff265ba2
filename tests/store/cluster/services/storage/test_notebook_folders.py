"""The folders of notebooks belong to the job's user, and their parents to us."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.services.storage import folders, notebook_folders
from tests.conftest import settings_for

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: without it everything is one user's")


def test_a_working_copy_is_made_once_and_keeps_its_files(tmp_path: Path) -> None:
    settings = settings_for("sqlite://", tmp_path)
    folders.ensure_workspace_folder(settings, 3)
    for _ in range(2):
        notebook_folders.ensure_working_copy_folder(settings, 3, 5, 7)
        folder = notebook_folders.working_copy_folder(settings, 3, 5, 7)
        (folder / "kept").touch()
    assert folder == settings.storage_dir.joinpath(*notebook_folders.working_copy_parts(3, 5, 7))
    assert stat.S_IMODE(folder.stat().st_mode) & 0o007 == 0 and (folder / "kept").exists()


@needs_root
def test_as_root_it_is_the_users_and_its_parent_is_not(tmp_path: Path) -> None:
    settings = settings_for("sqlite://", tmp_path)
    folders.ensure_workspace_folder(settings, 3)
    notebook_folders.ensure_working_copy_folder(settings, 3, 5, 7)
    folder = notebook_folders.working_copy_folder(settings, 3, 5, 7)
    assert (folder.stat().st_uid, folder.parent.stat().st_uid) == (settings.job_ids.uid_of(7), 0)


@needs_root
def test_nginx_passes_through_the_folder_of_a_socket_and_nobody_else(tmp_path: Path) -> None:
    settings = settings_for("sqlite://", tmp_path)
    settings.state_dir.mkdir(exist_ok=True)
    notebook_folders.ensure_socket_folder(settings, 9, 1, 7)
    about = notebook_folders.socket_folder(settings, 9, 1).stat()
    assert (about.st_uid, about.st_gid) == (settings.job_ids.uid_of(7), settings.gid_base)
    assert stat.S_IMODE(about.st_mode) == 0o2710


def test_too_long_a_path_is_refused_before_a_job_begins(tmp_path: Path) -> None:
    settings = replace(settings_for("sqlite://", tmp_path), state_dir=tmp_path / ("x" * 100))
    with pytest.raises(OSError, match="too long"):
        notebook_folders.ensure_socket_folder(settings, 9, 1, 7)


def test_folders_of_ended_notebooks_go(tmp_path: Path) -> None:
    settings = settings_for("sqlite://", tmp_path)
    notebook_folders.remove_socket_folders_except(settings, set())
    for name in ("1-1", "2-1"):
        (settings.notebook_sockets / name).mkdir(parents=True)
        (settings.notebook_sockets / name / "jupyter.sock").touch()
    notebook_folders.remove_socket_folders_except(settings, {"2-1"})
    assert [path.name for path in settings.notebook_sockets.iterdir()] == ["2-1"]
