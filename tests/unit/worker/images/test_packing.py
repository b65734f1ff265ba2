"""A root file system becomes an archive of two layers, with its record beside it."""

import json
import tarfile
from pathlib import Path

import pytest

from cluster.domain.images import DefaultImage, LibraryVersion
from worker.environments.build_platform import BuildPlatform
from worker.environments.build_steps import BuildStep, BuildStepProgress
from worker.environments.manifest import read_environment_manifest
from worker.images.description import ENVIRONMENT_PATH, inputs_digest, read_variant
from worker.images.image_record import read_image_record
from worker.images.packing import pack_image
from worker.oci.image_archive import read_archive_json

MACHINE = BuildPlatform("debian-12", "x86_64", "glibc-2.36", (), "3.11")
VARIANT = read_variant("cpu")
CONTENTS = (LibraryVersion("numpy", "2.0.2", "purpose.arrays"),)


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Path, DefaultImage, list[float]]:
    """The archive, its record, and how the progress went."""
    root, shares = tmp_path / "root", list[float]()
    environment = root / ENVIRONMENT_PATH.relative_to("/")
    for file in (root / "etc/hostname", root / "dev/null", environment / "bin/python"):
        file.parent.mkdir(parents=True)
        file.write_text("a file")
    (tmp_path / "layers").mkdir()
    progress = BuildStepProgress(lambda step, share, detail: shares.append(share), BuildStep.PACK)
    target = tmp_path / "image.tar"
    pack_image(
        root, VARIANT, MACHINE, {"PATH": "/usr/bin"}, CONTENTS, tmp_path / "layers", target, progress, {}
    )
    manifest = read_environment_manifest(environment)
    assert manifest is not None and manifest.digest == inputs_digest(VARIANT, MACHINE)
    record = read_image_record(target)
    assert record is not None
    return target, record, shares


def read_blob(archive: Path, digest: str) -> dict[str, object]:
    with tarfile.open(archive) as opened:
        found: dict[str, object] = read_archive_json(opened, f"blobs/{digest.replace(':', '/')}")
        return found


def test_the_record_names_the_image_that_was_written(packed: tuple[Path, DefaultImage, list[float]]) -> None:
    archive, record, shares = packed
    assert record.tag == f"cpu-{inputs_digest(VARIANT, MACHINE)}" and record.contents == CONTENTS
    assert (record.name, record.variant, record.system) == (VARIANT.image, "cpu", "debian-12")
    assert len(read_blob(archive, record.digest)["layers"]) == 2  # type: ignore[arg-type]
    assert shares == [0.4, 0.8, 1.0]


def test_a_container_begins_as_the_images_user_in_its_home(
    packed: tuple[Path, DefaultImage, list[float]],
) -> None:
    archive, record, _ = packed
    config: dict[str, str] = read_blob(archive, record.digest)["config"]  # type: ignore[assignment]
    image = read_blob(archive, config["digest"])
    run = json.loads(json.dumps(image["config"]))
    user = VARIANT.user
    assert (run["User"], run["WorkingDir"]) == (f"{user.number}:{user.number}", f"/home/{user.name}")
    assert (run["Env"], run["Cmd"]) == (["PATH=/usr/bin"], ["/bin/bash"])
    assert run["Labels"]["groundcrew.inputs"] == inputs_digest(VARIANT, MACHINE)
    assert image["created"] == record.made_at.isoformat()


def test_the_python_environment_is_a_layer_of_its_own_and_devices_are_none(
    packed: tuple[Path, DefaultImage, list[float]], tmp_path: Path
) -> None:
    names = []
    for layer in ("system", "packages"):
        with tarfile.open(tmp_path / "layers" / layer) as opened:
            names.append({name.removeprefix("./") for name in opened.getnames()} - {".", ""})
    inside = str(ENVIRONMENT_PATH.relative_to("/"))
    assert names[0] == {"dev", "etc", "etc/hostname"}
    assert f"{inside}/bin/python" in names[1] and all(name.startswith("opt") for name in names[1])
