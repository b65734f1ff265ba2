"""Write and read an image archive: an OCI layout in one tar, with Docker's manifest.json beside it.

https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md
"""

import gzip
import hashlib
import json
import re
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from worker.environments.wheels import sync_filesystem

OCI = "application/vnd.oci.image"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
CHUNK = 1 << 20
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
FAST = 1
"""gzip's level: a third more bytes than the best one in a fifth of its time."""


@dataclass(frozen=True)
class Layer:
    """A file of compressed changes; `diff_id` is the digest of what is in it, which the configuration names."""

    blob: "Blob"
    diff_id: str
    created_by: str


@dataclass(frozen=True)
class Blob:
    """A file whose name is the sum of its bytes."""

    path: Path
    size: int

    @property
    def digest(self) -> str:
        return f"sha256:{self.path.name}"

    @property
    def member(self) -> str:
        return f"blobs/sha256/{self.path.name}"


@dataclass(frozen=True)
class ImageConfig:
    """How a container of the image begins."""

    architecture: str
    """As `platform.machine()` says it."""
    made_at: datetime
    user: int
    folder: str
    variables: Mapping[str, str]
    labels: Mapping[str, str]


@dataclass(frozen=True)
class PackedImage:
    """`digest` is the manifest's: the name by which a registry gives out exactly this image."""

    digest: str
    size: int
    """Bytes that are pulled: layers and configuration."""


@dataclass(frozen=True)
class Descriptor:
    """A blob that a manifest names; `size` is bytes, None where nobody has said it."""

    digest: str
    size: int | None


def parse_descriptors(manifest: Mapping[str, Any]) -> list[Descriptor]:
    """Configuration and layers. Raises KeyError, ValueError for what is no manifest."""
    parts = [Descriptor(each["digest"], each["size"]) for each in (manifest["config"], *manifest["layers"])]
    for part in parts:
        if not DIGEST.fullmatch(part.digest):
            raise ValueError(f"no digest: {part.digest}")
    return parts


def pack_folder_layer(
    root: Path, parts: Sequence[str], folder: Path, said: str, without: Sequence[str] = ()
) -> Layer:
    """The parts of the root as one layer in `folder`; owners by number, names in order."""
    left_out = [f"--exclude={pattern}" for pattern in without]
    tar = ["tar", "--create", "--numeric-owner", "--sort=name", "--one-file-system", "--xattrs", "--anchored"]
    command = [*tar, "--no-wildcards-match-slash", *left_out, f"--directory={root}", "--", *parts]
    unnamed = folder / ".layer"
    plain, size = hashlib.sha256(), 0
    with subprocess.Popen(["nice", "-n", "10", *command], stdout=subprocess.PIPE) as tar_process:
        assert tar_process.stdout is not None
        with unnamed.open("wb") as file, gzip.GzipFile("", "wb", FAST, file, mtime=0) as packed:
            while chunk := tar_process.stdout.read(CHUNK):
                plain.update(chunk)
                packed.write(chunk)
    if tar_process.returncode != 0:
        raise subprocess.CalledProcessError(tar_process.returncode, command)
    size = unnamed.stat().st_size
    return Layer(Blob(rename_to_digest(unnamed), size), f"sha256:{plain.hexdigest()}", said)


def rename_to_digest(path: Path) -> Path:
    with path.open("rb") as file:
        return path.rename(path.with_name(hashlib.file_digest(file, "sha256").hexdigest()))


def write_image_archive(
    layers: Sequence[Layer], setup: ImageConfig, reference: str, target: Path
) -> PackedImage:
    """`target` appears whole or not at all; `reference` is the image's name and tag without a registry."""
    folder = layers[0].blob.path.parent
    configuration = write_blob(folder, render_image_config(layers, setup))
    parts = [descriptor_json(layer.blob, "layer.v1.tar+gzip") for layer in layers]
    manifest = write_blob(
        folder,
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": descriptor_json(configuration, "config.v1+json"),
            "layers": parts,
        },
    )
    names = {
        "org.opencontainers.image.ref.name": reference.split(":")[-1],
        "io.containerd.image.name": reference,
    }
    pointer = {**descriptor_json(manifest, "manifest.v1+json"), "annotations": names}
    of_docker = [
        {
            "Config": configuration.member,
            "RepoTags": [reference],
            "Layers": [layer.blob.member for layer in layers],
        }
    ]
    texts = {
        "oci-layout": {"imageLayoutVersion": "1.0.0"},
        "index.json": {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [pointer]},
        "manifest.json": of_docker,
    }
    partial = target.with_name(f".{target.name}.partial")
    with tarfile.open(partial, "w") as archive:
        for name, value in texts.items():
            add_blob(archive, name, write_blob(folder, value).path, setup.made_at)
        for blob in (manifest, configuration, *(layer.blob for layer in layers)):
            add_blob(archive, blob.member, blob.path, setup.made_at)
    sync_filesystem(folder)
    partial.replace(target)
    size = configuration.size + sum(layer.blob.size for layer in layers)
    return PackedImage(manifest.digest, size)


def render_image_config(layers: Sequence[Layer], setup: ImageConfig) -> dict[str, Any]:
    """https://github.com/opencontainers/image-spec/blob/v1.1.0/config.md"""
    at = setup.made_at.isoformat()
    return {
        "created": at,
        "architecture": ARCHITECTURES.get(setup.architecture, setup.architecture),
        "os": "linux",
        "config": {
            "User": f"{setup.user}:{setup.user}",
            "Env": [f"{name}={value}" for name, value in setup.variables.items()],
            "Cmd": ["/bin/bash"],
            "WorkingDir": setup.folder,
            "Labels": dict(setup.labels),
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": at, "created_by": layer.created_by} for layer in layers],
    }


def descriptor_json(blob: Blob, kind: str) -> dict[str, Any]:
    return {"mediaType": f"{OCI}.{kind}", "digest": blob.digest, "size": blob.size}


def write_blob(folder: Path, value: object) -> Blob:
    unnamed = folder / ".text"
    unnamed.write_text(json.dumps(value, sort_keys=True, separators=(",", ":")))
    path = rename_to_digest(unnamed)
    return Blob(path, path.stat().st_size)


def add_blob(archive: tarfile.TarFile, name: str, path: Path, at: datetime) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = path.stat().st_size, int(at.timestamp()), 0o644
    with path.open("rb") as file:
        archive.addfile(member, file)


def read_archive_json(archive: tarfile.TarFile, name: str) -> Any:
    """Raises KeyError where the archive has none."""
    member: IO[bytes] | None = archive.extractfile(name)
    assert member is not None
    return json.loads(member.read())
