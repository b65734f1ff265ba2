"""The environment of a release is built once, with our wheel or without it."""

import os
from pathlib import Path
from typing import Any

import pytest

from worker.bootstrap import release_environment


@pytest.mark.parametrize(("word", "wheel"), [("-", None), ("/groundcrew.whl", Path("/groundcrew.whl"))])
def test_it_is_built_where_it_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, wheel: Path | None
) -> None:
    built: list[tuple[Any, ...]] = []
    monkeypatch.setattr(release_environment, "is_built", lambda folder: bool(built))
    monkeypatch.setattr(release_environment, "build_virtual_environment", lambda *words: built.append(words))
    monkeypatch.setenv("PYTHONPATH", "/groundcrew.whl")
    folder, pins = tmp_path / "release", tmp_path / "pins.txt"
    for _ in range(2):
        assert release_environment.main([word, str(pins), str(folder)]) == 0
    assert built == [(folder, pins, tmp_path / "release.log", ("--no-cache",), wheel)]
    assert "PYTHONPATH" not in os.environ
