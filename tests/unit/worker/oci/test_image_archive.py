"""An OCI archive is an OCI layout and a Docker archive at once; its digests are those of the bytes in it."""

import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from worker.oci.image_archive import (
    ImageConfig,
    PackedImage,
    parse_descriptors,
    read_archive_json,
    write_docker_archive,
    write_oci_archive,
)
from worker.oci.layers import ImageLayer, add_file_to_layer, open_layer_tar, pack_folder_layer, plain_layer

CONFIG = ImageConfig(
    environment={"PATH": "/usr/bin", "LANG": "C.UTF-8"},
    working_dir="/home/mpiuser",
    user="1000:1000",
    command=("/bin/bash",),
    labels={"groundcrew.variant": "cpu"},
    created="2026-11-21T12:00:00+00:00",
)
PAUSE = "registry.k8s.io/pause:3"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in (("etc/hostname", "builder"), ("dev/null", ""), ("opt/groundcrew/lib.py", "x = 1")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    return root


def packed(root: Path, tmp_path: Path) -> tuple[Path, PackedImage]:
    system = pack_folder_layer(root, ["."], tmp_path / "system", "system", ["./opt", "./dev/*"])
    packages = pack_folder_layer(root, ["./opt"], tmp_path / "packages", "packages")
    target = tmp_path / "image.tar"
    return target, write_oci_archive(target, "groundcrew-default:cpu-1", [system, packages], CONFIG)


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


def fixed_layers(folder: Path) -> list[ImageLayer]:
    (folder / "program").write_text("#!/bin/sh\n")
    (folder / "licence").write_text("MIT\n")
    with open_layer_tar(folder / "one.tar") as tar:
        add_file_to_layer(tar, "usr/local/bin/pause", folder / "program")
        add_file_to_layer(tar, "licences/pause.txt", folder / "licence", 0o644)
    with open_layer_tar(folder / "two.tar") as tar:
        add_file_to_layer(tar, "opt/lib.py", folder / "licence", 0o644)
    return [plain_layer(folder / name, "groundcrew-bundle") for name in ("one.tar", "two.tar")]


def as_if_compressed(layer: ImageLayer) -> ImageLayer:
    """Its bytes do not depend on the machine's zlib."""
    path = layer.path.with_suffix(".packed")
    path.write_bytes(b"packed " + layer.path.read_bytes())
    return replace(plain_layer(path, "a test"), diff_id=layer.diff_id)


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# The sums are those of the two writers that there were before there was one.
def test_an_oci_archive_of_fixed_layers_has_a_fixed_digest(tmp_path: Path) -> None:
    layers = [as_if_compressed(layer) for layer in fixed_layers(tmp_path)]
    image = write_oci_archive(tmp_path / "image.tar", "groundcrew-default:cpu-1", layers, CONFIG)
    assert image == PackedImage(
        "sha256:cfff95fbdde947a3037c6b8b0e26f1d8413f3e148ae37de30d7b3e447f366403", 21049
    )
    assert (
        sum_of(tmp_path / "image.tar") == "cc82c733d603c9b64db206271030e65da7322b35b2c27671554495a26eea70ee"
    )


@pytest.mark.parametrize(
    ("reference", "order", "config", "expected"),
    [
        (
            PAUSE,
            [0, 1],
            ImageConfig(entrypoint=("/pause",), user="65535:65535"),
            "4eb9f8209f5d7f6b2a71b0b6e5ac2ec861e6f56be96d04fe952404740ae74c52",
        ),
        (
            "docker.io/gc/probe:1",
            [0],
            ImageConfig(),
            "db0c9c55fad75d0927b33a60816eb6de327511eaef363b34f933c7a13bfa2c56",
        ),
        (
            PAUSE,
            [0, 1, 0],
            b'{"rootfs": {}}',
            "e17914bbeda42453222b412f5a7d5baa92d982a2866a95c76ae4bee74b43d60f",
        ),
    ],
    ids=["with an entrypoint", "with nothing", "with the configuration of somebody else"],
)
def test_a_docker_archive_of_fixed_layers_has_a_fixed_digest(
    tmp_path: Path, reference: str, order: list[int], config: ImageConfig | bytes, expected: str
) -> None:
    layers = fixed_layers(tmp_path)
    write_docker_archive(tmp_path / "image.tar", reference, [layers[each] for each in order], config)
    assert sum_of(tmp_path / "image.tar") == expected


def test_a_docker_archive_has_what_an_engine_asks_for(tmp_path: Path) -> None:
    layer = fixed_layers(tmp_path)[0]
    archive = tmp_path / "image.tar"
    write_docker_archive(archive, PAUSE, [layer], ImageConfig(entrypoint=("/pause",), user="65535"))
    (listed,) = text_of(archive, "manifest.json")
    assert listed["RepoTags"] == [PAUSE]
    assert listed["Config"] == f"{hashlib.sha256(member(archive, listed['Config'])).hexdigest()}.json"
    configuration = text_of(archive, listed["Config"])
    assert configuration["rootfs"]["diff_ids"] == [layer.diff_id]
    assert configuration["config"]["Entrypoint"] == ["/pause"] and configuration["config"]["User"] == "65535"
    assert "Cmd" not in configuration["config"]
    assert f"sha256:{hashlib.sha256(member(archive, listed['Layers'][0])).hexdigest()}" == layer.digest


def test_a_plain_layer_is_said_to_be_one(tmp_path: Path) -> None:
    layers = fixed_layers(tmp_path)
    image = write_oci_archive(tmp_path / "image.tar", "a:1", [layers[0], as_if_compressed(layers[1])], CONFIG)
    manifest = json.loads(blob(tmp_path / "image.tar", image.digest))
    kinds = [each["mediaType"].rpartition(".")[2] for each in manifest["layers"]]
    assert kinds == ["tar", "tar+gzip"]


def test_an_archive_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    layer = fixed_layers(tmp_path)[0]
    archive = tmp_path / "image.tar"
    write_docker_archive(archive, PAUSE, [layer], ImageConfig())
    before = archive.read_bytes()
    layer.path.unlink()
    with pytest.raises(FileNotFoundError):
        write_docker_archive(archive, PAUSE, [layer], ImageConfig(user="1"))
    assert archive.read_bytes() == before and not list(tmp_path.glob("*.unfinished"))


def test_what_a_manifest_names_is_read(tmp_path: Path) -> None:
    layers = fixed_layers(tmp_path)
    image = write_oci_archive(tmp_path / "image.tar", "a:1", layers, CONFIG)
    with tarfile.open(tmp_path / "image.tar") as archive:
        manifest = read_archive_json(archive, f"blobs/sha256/{image.digest.removeprefix('sha256:')}")
        with pytest.raises(KeyError):
            read_archive_json(archive, "blobs/sha256/0")
    parts = parse_descriptors(manifest)
    assert [part.digest for part in parts[1:]] == [layer.digest for layer in layers]
    assert sum(part.size or 0 for part in parts) == image.size


@pytest.mark.parametrize("digest", ["sha256:1", "../../etc/passwd", ""])
def test_a_manifest_with_another_thing_than_digests_is_refused(digest: str) -> None:
    with pytest.raises(ValueError, match="no digest"):
        parse_descriptors({"config": {"digest": digest, "size": 1}, "layers": []})
