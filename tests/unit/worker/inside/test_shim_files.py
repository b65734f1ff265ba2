"""The marker of a start is there whole or not at all, whatever moment its writer dies in."""

import os
from pathlib import Path

import pytest

from worker.inside import shim_files


class Died(BaseException):
    pass


def test_a_writer_that_dies_before_it_tidies_up_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(path: str) -> None:
        raise Died(path)

    marker = tmp_path / "started"
    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(os, "unlink", dies)
        shim_files.create_json_once(str(marker), {"pid": 7})
    assert marker.stat().st_nlink == 2
    assert shim_files.read_untrusted_marker(str(tmp_path), "started") == {"pid": 7}
    assert not shim_files.create_json_once(str(marker), {"pid": 8})
    assert shim_files.read_untrusted_marker(str(tmp_path), "started") == {"pid": 7}


def test_a_file_with_a_name_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "out").mkdir()
    for name in ("metrics.jsonl", "started", "started.0123456789abcdef.tmp"):
        (tmp_path / "out" / name).hardlink_to(tmp_path / "secret")
    assert shim_files.read_untrusted_file(str(tmp_path / "out"), "metrics.jsonl") is None
    assert shim_files.read_untrusted_marker(str(tmp_path / "out"), "started") is None


def test_a_reserved_file_has_its_space_before_it_has_its_content(tmp_path: Path) -> None:
    reserved, path = str(tmp_path / "exit.reserved"), tmp_path / "exit.json"
    shim_files.reserve_file(reserved)
    assert Path(reserved).stat().st_size == len(shim_files.RESERVE) and not path.exists()
    shim_files.write_reserved(reserved, str(path), {"exit_code": 0})
    assert shim_files.read_untrusted_json(str(tmp_path), "exit.json") == {"exit_code": 0}
    assert [file.name for file in tmp_path.iterdir()] == ["exit.json"]
