"""Files of an unpacked archive are listed by their paths below its folder."""

from pathlib import Path

from worker.tasks.code.unpacked_code import list_unpacked


def test_files_are_listed_with_their_sizes_and_folders_are_not(tmp_path: Path) -> None:
    (tmp_path / "net" / "empty").mkdir(parents=True)
    (tmp_path / "net" / "b.py").write_text("22")
    (tmp_path / "net" / "a.py").write_text("1")
    (tmp_path / "train.py").write_text("333")
    assert dict(list_unpacked(tmp_path)) == {"net/a.py": 1, "net/b.py": 2, "train.py": 3}
