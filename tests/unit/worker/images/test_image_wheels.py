"""Of the packages that services have fetched, an image takes those that are pinned."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from worker.environments.build_platform import read_build_platform
from worker.environments.command_runner import CommandRunner
from worker.environments.description import EnvironmentDescription
from worker.images import image_wheels
from worker.images.description import read_variant

PINNED = b"the archive that is pinned"


@pytest.fixture
def house(tmp_path: Path) -> image_wheels.ImageWheels:
    source = tmp_path / "horovod.txt"
    source.write_text(f"horovod==0.28.1 --hash=sha256:{hashlib.sha256(PINNED).hexdigest()}\n")
    requirements = tmp_path / "pins.txt"
    requirements.write_text("")
    variant = read_variant("cpu")
    environment = replace(variant.environment, folder=tmp_path)
    variant = replace(variant, environment=environment, requirements=requirements)
    return image_wheels.open_wheelhouse(
        variant, read_build_platform(image_wheels.PYTHON), tmp_path / "images", tmp_path / "house"
    )


def test_an_archive_of_sources_beside_the_pinned_one_is_not_taken(
    house: image_wheels.ImageWheels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "cache" / "wheels-000000000000"
    known.mkdir(parents=True)
    (known / "horovod-0.28.1.tar.gz").write_bytes(PINNED)
    for name in ("horovod-0.0.1.tar.gz", "horovod-99.tar.gz", "numpy-99-py3-none-any.whl"):
        (known / name).write_bytes(b"another one")
    taken: list[str] = []

    def download(
        description: EnvironmentDescription, wheels: image_wheels.WheelFolder, *others: object
    ) -> None:
        taken.extend(sorted(path.name for path in (wheels.partial / "files").iterdir()))

    monkeypatch.setattr(image_wheels, "download_wheels", download)
    commands = CommandRunner(tmp_path / "log", "a mark")
    image_wheels.ensure_image_wheels(house, known.parent, commands, None)  # type: ignore[arg-type]
    assert taken == ["horovod-0.28.1.tar.gz"]
