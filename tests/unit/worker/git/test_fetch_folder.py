"""The folder of a fetch is gone afterwards, and what a killed one left is found."""

import os
import time
from pathlib import Path

import pytest

from worker.git.fetch_folder import fetch_folder, new_folder_name, write_private_file


def test_a_folder_is_deleted_whatever_happens(tmp_path: Path) -> None:
    old, young = tmp_path / new_folder_name(), tmp_path / new_folder_name()
    for folder in (old, young):
        (folder / "repository").mkdir(parents=True)
    os.utime(old, (time.time() - 100_000,) * 2)
    name = new_folder_name()
    with pytest.raises(RuntimeError), fetch_folder(tmp_path, name, None):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o700
        write_private_file(tmp_path / name / "key", "secret", None)
        assert (tmp_path / name / "key").stat().st_mode & 0o777 == 0o600
        raise RuntimeError
    assert [folder.name for folder in tmp_path.iterdir()] == [young.name]


def test_a_secret_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        write_private_file(tmp_path / "key", "secret", None)
    assert not (tmp_path / "elsewhere").exists()
