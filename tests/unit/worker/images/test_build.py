"""An image is built in steps, in a folder that a build which does not end leaves to the next one."""

import os
from pathlib import Path

import pytest

from cluster.domain.images import DefaultImage
from worker.environments.build_platform import BuildPlatform
from worker.environments.errors import BuildFailed, NoSpaceForBuild, ToolsMissing
from worker.images import build
from worker.images.build import ImageBuild, build_image, check_image_prerequisites
from worker.images.description import image_archive_path, read_variant

VARIANT = read_variant("cpu")
MACHINE = BuildPlatform("debian-12", "x86_64", "glibc-2.36", (), "3.11")


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine could build; what is there is what a test has put there."""
    monkeypatch.setattr(build, "read_build_platform", lambda python: MACHINE)
    monkeypatch.setattr(build, "check_image_prerequisites", lambda variant, cache: None)
    monkeypatch.setattr(
        build, "read_image_record", lambda archive: DefaultImage if archive.is_file() else None
    )


def build_in(cache: Path) -> Path:
    return build_image(
        VARIANT, cache, lambda *_: None, uv=Path("/uv"), log=cache / "log/build.log", known=cache
    )


def test_an_image_is_built_once_and_its_folder_goes(
    ready: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Path] = []

    def run(self: ImageBuild, uv: Path, known: Path, target: Path) -> None:
        assert sorted(path.name for path in self.folder.iterdir()) == ["layers", "workshop"]
        runs.append(target)
        target.touch()

    monkeypatch.setattr(ImageBuild, "run", run)
    archive = build_in(tmp_path)
    assert build_in(tmp_path) == archive == image_archive_path(VARIANT, MACHINE, tmp_path)
    assert runs == [archive] and not list(tmp_path.glob("*.building"))


def test_what_a_killed_build_has_left_is_thrown_away(
    ready: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / f"{image_archive_path(VARIANT, MACHINE, tmp_path).stem}.building"
    (left / "root").mkdir(parents=True)

    def run(self: ImageBuild, uv: Path, known: Path, target: Path) -> None:
        assert self.folder == left and not (left / "root").exists()
        target.touch()

    monkeypatch.setattr(ImageBuild, "run", run)
    build_in(tmp_path)


def test_a_build_that_fails_leaves_no_archive(
    ready: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: ImageBuild, uv: Path, known: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ImageBuild, "run", run)
    with pytest.raises(NoSpaceForBuild):
        build_in(tmp_path)
    assert not list(tmp_path.glob("*.tar"))


def test_nobody_but_root_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BuildFailed) as refused:
        check_image_prerequisites(VARIANT, tmp_path / "cache")
    assert refused.value.code == "environment.needs_root" and not (tmp_path / "cache").exists()


def test_programs_that_are_missing_are_named_by_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(build, "check_python_version", lambda environment, python: None)
    monkeypatch.setattr(build, "TOOLS", {"no-such-tool": "a-package", "sh": "dash"})
    with pytest.raises(ToolsMissing) as missing:
        check_image_prerequisites(VARIANT, tmp_path)
    assert missing.value.data["packages"] == ["a-package"]
