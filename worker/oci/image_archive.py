"""Write and read image archives. An archive is one tar with the layers of an image, its configuration and its
manifest.

There are two forms. The OCI layout has a manifest with its own digest, and Docker's manifest.json:
https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md The Docker archive has only manifest.json and
uncompressed layers. The same layers give the same bytes in both forms.
"""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from cluster.files.atomic import open_atomically
from worker.oci.layers import ImageLayer

OCI = "application/vnd.oci.image"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
EPOCH = "1970-01-01T00:00:00Z"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class ImageConfig:
    """The configuration with which a container of the image begins. Empty values are left out."""

    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": PATH})
    working_dir: str = "/"
    user: str = ""
    """The uid and gid, as 1000:1000."""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str = "x86_64"
    """The architecture as `platform.machine()` returns it."""
    created: str = EPOCH
    """A time in RFC 3339."""


@dataclass(frozen=True)
class PackedImage:
    """`digest` is the digest of the manifest, by which a registry identifies the image."""

    digest: str
    size: int
    """Bytes that are pulled: layers and configuration."""


@dataclass(frozen=True)
class BlobDescriptor:
    """A blob that a manifest names. `size` is in bytes, None if it is unknown."""

    digest: str
    size: int | None


def parse_descriptors(manifest: Mapping[str, Any]) -> list[BlobDescriptor]:
    """The configuration and the layers. Raises KeyError or ValueError for an invalid manifest."""
    parts = [
        BlobDescriptor(each["digest"], each["size"]) for each in (manifest["config"], *manifest["layers"])
    ]
    for part in parts:
        if not DIGEST.fullmatch(part.digest):
            raise ValueError(f"no digest: {part.digest}")
    return parts


def write_oci_archive(
    target: Path, reference: str, layers: Sequence[ImageLayer], config: ImageConfig
) -> PackedImage:
    """Writes the archive atomically. `reference` is the image's name and tag without a registry."""
    configuration = to_json(render_image_config(layers, config))
    config_part = describe_blob(configuration, "config.v1+json")
    layer_parts = [describe_layer(layer) for layer in layers]
    manifest = to_json(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": config_part,
            "layers": layer_parts,
        }
    )
    names = {
        "org.opencontainers.image.ref.name": reference.split(":")[-1],
        "io.containerd.image.name": reference,
    }
    pointer = describe_blob(manifest, "manifest.v1+json")
    index = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.index.v1+json",
        "manifests": [{**pointer, "annotations": names}],
    }
    config_name = blob_member(config_part["digest"])
    listed = list_for_docker(reference, config_name, [blob_member(layer.digest) for layer in layers])
    members: dict[str, bytes | Path] = {
        "oci-layout": to_json({"imageLayoutVersion": "1.0.0"}),
        "index.json": to_json(index),
        "manifest.json": to_json(listed),
        blob_member(pointer["digest"]): manifest,
        config_name: configuration,
        **{blob_member(layer.digest): layer.path for layer in layers},
    }
    created = int(datetime.fromisoformat(config.created).timestamp())
    write_members(target, members, tarfile.PAX_FORMAT, created)
    return PackedImage(pointer["digest"], sum(part["size"] for part in (config_part, *layer_parts)))


def write_docker_archive(
    target: Path, reference: str, layers: Sequence[ImageLayer], config: ImageConfig | bytes
) -> None:
    """Writes the archive atomically. `reference` is the image's full name; the layers are uncompressed tars.

    A configuration that others have written is given as bytes, because its digest is the image's id.
    """
    if isinstance(config, ImageConfig):
        config = json.dumps(render_image_config(layers, config), sort_keys=True).encode()
    names = [f"{layer.diff_id.removeprefix('sha256:')}.tar" for layer in layers]
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    listed = list_for_docker(reference, config_name, names)
    members: dict[str, bytes | Path] = {
        config_name: config,
        **{name: layer.path for name, layer in zip(names, layers, strict=True)},
        "manifest.json": json.dumps(listed).encode(),
    }
    write_members(target, members, tarfile.GNU_FORMAT, 0)


def render_image_config(layers: Sequence[ImageLayer], config: ImageConfig) -> dict[str, Any]:
    """The configuration of the image. https://github.com/opencontainers/image-spec/blob/v1.1.0/config.md"""
    run = {
        "User": config.user,
        "Env": [f"{name}={value}" for name, value in config.environment.items()],
        "Entrypoint": list(config.entrypoint),
        "Cmd": list(config.command),
        "WorkingDir": config.working_dir,
        "Labels": dict(config.labels),
    }
    return {
        "created": config.created,
        "architecture": ARCHITECTURES.get(config.architecture, config.architecture),
        "os": "linux",
        "config": {name: value for name, value in run.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": config.created, "created_by": layer.created_by} for layer in layers],
    }


def list_for_docker(reference: str, config: str, layers: Iterable[str]) -> list[dict[str, Any]]:
    """The content of manifest.json: the image's name, its configuration and its layers."""
    return [{"Config": config, "RepoTags": [reference], "Layers": list(layers)}]


def to_json(value: object) -> bytes:
    """Encodes the value so that equal values give equal bytes and digests."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def describe_blob(content: bytes, kind: str) -> dict[str, Any]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"mediaType": f"{OCI}.{kind}", "digest": digest, "size": len(content)}


def describe_layer(layer: ImageLayer) -> dict[str, Any]:
    kind = "layer.v1.tar" if layer.digest == layer.diff_id else "layer.v1.tar+gzip"
    return {"mediaType": f"{OCI}.{kind}", "digest": layer.digest, "size": layer.path.stat().st_size}


def blob_member(digest: str) -> str:
    """The path of a blob in an OCI layout."""
    return f"blobs/{digest.replace(':', '/')}"


def write_members(target: Path, members: Mapping[str, bytes | Path], tar_format: int, mtime: int) -> None:
    """Writes the members in this order, owned by root. The tar formats differ in a few bytes of each header."""
    with (
        open_atomically(target, 0o644) as file,
        tarfile.open(fileobj=file, mode="w", format=tar_format) as archive,
    ):
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.mtime, member.mode = mtime, 0o644
            with content.open("rb") if isinstance(content, Path) else io.BytesIO(content) as source:
                member.size = source.seek(0, io.SEEK_END)
                source.seek(0)
                archive.addfile(member, source)


def read_archive_json(archive: tarfile.TarFile, name: str) -> Any:
    """Raises KeyError if the archive has no such member."""
    member: IO[bytes] | None = archive.extractfile(name)
    assert member is not None
    return json.loads(member.read())
