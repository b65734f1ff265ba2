"""Packages are installed in an image from its wheels alone."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from worker.environments.command_runner import CommandRunner
from worker.environments.description import SourceChange
from worker.environments.errors import BuildStepFailed
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


def an_archive(folder: Path, text: str) -> SimpleNamespace:
    """A house whose source archive has one file, and a description that changes it."""
    (folder / "horovod-0.28.1").mkdir()
    (folder / "horovod-0.28.1" / "CMakeLists.txt").write_text(text)
    archive = folder / "horovod-0.28.1.tar.gz"
    subprocess.run(
        ["tar", "--create", "--gzip", "--file", archive, "-C", folder, "horovod-0.28.1"], check=True
    )
    change = SourceChange("CMakeLists.txt", "STANDARD 14", "STANDARD 17")
    compiled = SimpleNamespace(changes=(change,))
    wheels = SimpleNamespace(find_source=lambda package: archive)
    return SimpleNamespace(wheels=wheels, package="horovod", description=SimpleNamespace(compiled=compiled))


def test_a_source_is_changed_before_it_is_compiled(tmp_path: Path) -> None:
    house, commands = (
        an_archive(tmp_path, "set(CMAKE_CXX_STANDARD 14)\n"),
        CommandRunner(tmp_path / "log", "m"),
    )
    python_environment.unpack_source(cast(Any, house), tmp_path / "source", commands)
    assert (tmp_path / "source" / "CMakeLists.txt").read_text() == "set(CMAKE_CXX_STANDARD 17)\n"


@pytest.mark.parametrize("text", ["nothing of it\n", "STANDARD 14\nSTANDARD 14\n"])
def test_a_text_to_change_that_is_not_there_once_ends_the_build(tmp_path: Path, text: str) -> None:
    house, commands = an_archive(tmp_path, text), CommandRunner(tmp_path / "log", "m")
    with pytest.raises(BuildStepFailed) as failed:
        python_environment.unpack_source(cast(Any, house), tmp_path / "source", commands)
    assert "does not contain once: STANDARD 14" in failed.value.data["line"]
