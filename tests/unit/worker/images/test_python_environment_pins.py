"""Of the packages that services have fetched, an image takes those that are pinned."""

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from worker.environments.build_platform import read_build_platform
from worker.environments.command_runner import CommandRunner
from worker.environments.description import EnvironmentDescription
from worker.images import python_environment
from worker.images.description import read_variant

PINNED = b"the archive that is pinned"


@pytest.fixture
def house(tmp_path: Path) -> python_environment.ImageWheels:
    source = tmp_path / "horovod.txt"
    source.write_text(f"horovod==0.28.1 --hash=sha256:{hashlib.sha256(PINNED).hexdigest()}\n")
    requirements = tmp_path / "pins.txt"
    requirements.write_text("")
    variant = read_variant("cpu")
    environment = replace(variant.environment, folder=tmp_path)
    variant = replace(variant, environment=environment, requirements=requirements)
    return python_environment.open_wheelhouse(
        variant, read_build_platform(python_environment.PYTHON), tmp_path / "images", tmp_path / "house"
    )


def test_an_archive_of_sources_beside_the_pinned_one_is_not_taken(
    house: python_environment.ImageWheels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "cache" / "wheels-000000000000"
    known.mkdir(parents=True)
    (known / "horovod-0.28.1.tar.gz").write_bytes(PINNED)
    for name in ("horovod-0.0.1.tar.gz", "horovod-99.tar.gz", "numpy-99-py3-none-any.whl"):
        (known / name).write_bytes(b"another one")
    taken: list[str] = []

    def download(
        description: EnvironmentDescription, wheels: python_environment.WheelFolder, *others: object
    ) -> None:
        taken.extend(sorted(path.name for path in (wheels.partial / "files").iterdir()))

    monkeypatch.setattr(python_environment, "download_wheels", download)
    commands = CommandRunner(tmp_path / "log", "a mark")
    python_environment.ensure_image_wheels(house, known.parent, commands, None)  # type: ignore[arg-type]
    assert taken == ["horovod-0.28.1.tar.gz"]


@pytest.mark.parametrize(
    ("folder", "target"),
    [
        (None, ["--python", str(python_environment.ENVIRONMENT_PATH), "--compile-bytecode"]),
        (Path("/mnt/extra"), ["--target", "/mnt/extra"]),
    ],
)
def test_packages_are_installed_from_the_wheelhouse_alone_and_by_their_hashes(
    folder: Path | None, target: list[str]
) -> None:
    calls: list[list[str]] = []

    def run_inside(command: list[Any], **options: Any) -> None:
        calls.append([str(word) for word in command])
        assert options["on_tick"] is report_again

    def report_again() -> None: ...

    root, progress = SimpleNamespace(run_inside=run_inside), SimpleNamespace(report_again=report_again)
    python_environment.uv_install(cast(Any, root), "image-cpu.txt", cast(Any, progress), folder)
    (call,) = calls
    assert call[1:3] == ["pip", "install"] and {"--offline", "--no-index", "--require-hashes"} <= set(call)
    assert call[-2 - len(target) : -2] == target
    assert call[-1].endswith("/image-cpu.txt")
