"""An archive is an OCI layout and a Docker archive at once; its digests are those of the bytes in it."""

import gzip
import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from worker.oci.image_archive import ImageConfig, PackedImage, pack_folder_layer, write_image_archive

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SETUP = ImageConfig("x86_64", AT, 1000, "/home/mpiuser", {"PATH": "/usr/bin"}, {"groundcrew.variant": "cpu"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in (("etc/hostname", "builder"), ("dev/null", ""), ("opt/groundcrew/lib.py", "x = 1")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    return root


def packed(root: Path, tmp_path: Path) -> tuple[Path, PackedImage]:
    folder = tmp_path / "layers"
    folder.mkdir()
    system = pack_folder_layer(root, ["."], folder, "system", ["./opt", "./dev/*"])
    packages = pack_folder_layer(root, ["./opt"], folder, "packages")
    target = tmp_path / "image.tar"
    return target, write_image_archive([system, packages], SETUP, "groundcrew-default:cpu-1", target)


def member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        found = opened.extractfile(name)
        assert found is not None
        return found.read()


def text_of(archive: Path, name: str) -> Any:
    return json.loads(member(archive, name))


def blob(archive: Path, digest: str) -> bytes:
    content = member(archive, digest.replace("sha256:", "blobs/sha256/"))
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == digest
    return content


def test_each_blob_is_named_by_its_own_sum(root: Path, tmp_path: Path) -> None:
    archive, image = packed(root, tmp_path)
    (pointer,) = text_of(archive, "index.json")["manifests"]
    assert pointer["digest"] == image.digest
    manifest = json.loads(blob(archive, image.digest))
    parts = [manifest["config"], *manifest["layers"]]
    assert [len(blob(archive, part["digest"])) for part in parts] == [part["size"] for part in parts]
    assert image.size == sum(part["size"] for part in parts)
    plain = [hashlib.sha256(gzip.decompress(blob(archive, part["digest"]))).hexdigest() for part in parts[1:]]
    configuration = json.loads(blob(archive, manifest["config"]["digest"]))
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{each}" for each in plain]
    assert (configuration["architecture"], configuration["config"]["User"]) == ("amd64", "1000:1000")


def test_docker_finds_the_same_image_in_it(root: Path, tmp_path: Path) -> None:
    archive, image = packed(root, tmp_path)
    (listed,) = text_of(archive, "manifest.json")
    manifest = json.loads(blob(archive, image.digest))
    assert listed["RepoTags"] == ["groundcrew-default:cpu-1"]
    assert [name.replace("blobs/sha256/", "sha256:") for name in (listed["Config"], *listed["Layers"])] == [
        manifest["config"]["digest"],
        *(layer["digest"] for layer in manifest["layers"]),
    ]


def test_the_python_environment_is_a_layer_of_its_own(root: Path, tmp_path: Path) -> None:
    archive, image = packed(root, tmp_path)
    manifest = json.loads(blob(archive, image.digest))
    names = []
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(blob(archive, layer["digest"]))) as opened:
            names.append({name.removeprefix("./") for name in opened.getnames()} - {".", ""})
    assert names == [{"dev", "etc", "etc/hostname"}, {"opt", "opt/groundcrew", "opt/groundcrew/lib.py"}]
