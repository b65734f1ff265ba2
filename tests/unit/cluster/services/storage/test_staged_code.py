"""A version of code appears in its place completely or not at all."""

from pathlib import Path

import pytest

from cluster.services.storage import folders, staged_code
from cluster.settings import Settings

FILES = [("train.py", b"1"), ("net/deep/conv.py", b"2")]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path, tmp_path / "cache", "", "", "")


def code_of(settings: Settings) -> Path:
    return folders.workspace_folder(settings, 1) / "code"


def test_files_lie_in_their_folders_and_are_for_nobody_else(settings: Settings) -> None:
    with staged_code.staged_code(settings, 1, FILES) as staged:
        staged.place(7, 1)
    version = code_of(settings) / "7/1"
    assert (version / "net/deep/conv.py").read_bytes() == b"2"
    for path in (version, *version.rglob("*")):
        assert path.stat().st_mode & 0o027 == 0, path
    assert [file.size for file in staged.files] == [1, 1]
    assert [path.name for path in code_of(settings).iterdir()] == ["7"]


def test_a_leftover_of_that_number_is_replaced(settings: Settings) -> None:
    staged_code.write_code(settings, code_of(settings) / "7/1", FILES, 1)
    staged_code.write_code(settings, code_of(settings) / "7/1", FILES[:1], 1)
    assert [path.name for path in (code_of(settings) / "7/1").iterdir()] == ["train.py"]


def test_what_is_not_placed_leaves_nothing(settings: Settings) -> None:
    with staged_code.staged_code(settings, 1, FILES):
        pass
    with pytest.raises(FileExistsError), staged_code.staged_code(settings, 1, [*FILES, FILES[0]]):
        pass
    assert list(code_of(settings).iterdir()) == []


def test_all_versions_of_a_training_are_deleted(settings: Settings) -> None:
    staged_code.delete_code(settings, 1, 7)
    for number in (1, 2):
        staged_code.write_code(settings, code_of(settings) / f"7/{number}", FILES, 1)
    staged_code.write_code(settings, code_of(settings) / "8/1", FILES, 1)
    staged_code.delete_code(settings, 1, 7)
    assert [path.name for path in code_of(settings).iterdir()] == ["8"]
