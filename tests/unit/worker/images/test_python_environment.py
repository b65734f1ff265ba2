"""Packages are installed in an image from its wheels alone."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from worker.images import python_environment


@pytest.mark.parametrize(
    ("folder", "target"),
    [
        (None, ["--python", str(python_environment.ENVIRONMENT_PATH), "--compile-bytecode"]),
        (Path("/mnt/extra"), ["--target", "/mnt/extra"]),
    ],
)
def test_packages_are_installed_from_the_wheelhouse_alone_and_by_their_hashes(
    folder: Path | None, target: list[str], tmp_path: Path
) -> None:
    calls: list[list[str]] = []

    def run_inside(command: list[Any], **options: Any) -> None:
        calls.append([str(word) for word in command])
        assert options["on_tick"] is report_again

    def report_again() -> None: ...

    root = SimpleNamespace(run_inside=run_inside, path=tmp_path)
    progress = SimpleNamespace(report_again=report_again)
    cache = tmp_path / python_environment.UV_CACHE.relative_to("/")
    (cache / "wheels-v5").mkdir(parents=True)
    python_environment.uv_install(cast(Any, root), "image-cpu.txt", cast(Any, progress), folder)
    (call,) = calls
    assert call[1:3] == ["pip", "install"] and {"--offline", "--no-index", "--require-hashes"} <= set(call)
    assert call[-2 - len(target) : -2] == target
    assert call[-1].endswith("/image-cpu.txt")
    assert not cache.exists(), "no part of the image"


def test_a_wheel_is_linked_and_one_that_is_there_stays(tmp_path: Path) -> None:
    wheel, place = tmp_path / "a.whl", tmp_path / "there.whl"
    wheel.write_bytes(b"wheel")
    python_environment.link_or_copy_path(str(wheel), str(place))
    assert place.samefile(wheel)
    other = tmp_path / "b.whl"
    other.write_bytes(b"other")
    python_environment.link_or_copy_path(str(other), str(place))
    assert place.read_bytes() == b"wheel"


def test_a_wheel_of_another_disk_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(python_environment.os, "link", refuse)
    (tmp_path / "a.whl").write_bytes(b"wheel")
    python_environment.link_or_copy(tmp_path / "a.whl", tmp_path / "there.whl")
    assert (tmp_path / "there.whl").read_bytes() == b"wheel"
