"""Write the layers of container images as reproducible tar files."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Layer:
    """An uncompressed tar; its content names it."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class RunSettings:
    """What the image says about how it is run."""

    entrypoint: tuple[str, ...] = ()
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def open_layer_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """The same files make the same bytes: no time, no owner but root."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        yield tar


def finish_plain_layer(path: Path) -> Layer:
    with path.open("rb") as file:
        return Layer(path, hashlib.file_digest(file, "sha256").hexdigest())


def add_parent_folders(tar: tarfile.TarFile, path: str) -> None:
    """Those above a file, as few engines make them by themselves."""
    there = set(tar.getnames())
    for parent in reversed(Path(path).parents):
        if (name := parent.as_posix()) not in {".", *there}:
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)


def add_file_to_layer(tar: tarfile.TarFile, path: str, content: Path, mode: int = 0o755) -> None:
    add_parent_folders(tar, path)
    info = tarfile.TarInfo(path)
    info.size, info.mode = content.stat().st_size, mode
    with content.open("rb") as file:
        tar.addfile(info, file)


def write_image_archive(target: Path, reference: str, layers: Sequence[Layer], settings: RunSettings) -> None:
    """An image of our making."""
    configuration = json.dumps(_configuration(layers, settings), sort_keys=True).encode()
    write_loaded_archive(target, reference, layers, configuration)


def write_loaded_archive(target: Path, reference: str, layers: Sequence[Layer], configuration: bytes) -> None:
    """A docker-archive: manifest.json, the configuration, each layer as <digest>.tar."""
    digest = hashlib.sha256(configuration).hexdigest()
    files = {f"{layer.sha256}.tar": layer.path for layer in layers}
    listed = {
        "Config": f"{digest}.json",
        "RepoTags": [reference],
        "Layers": [f"{layer.sha256}.tar" for layer in layers],
    }
    partial = target.with_name(f".{target.name}.partial")
    with open_layer_tar(partial) as tar:
        _add_bytes(tar, f"{digest}.json", configuration)
        for name, path in files.items():
            add_file_to_layer(tar, name, path, 0o644)
        _add_bytes(tar, "manifest.json", json.dumps([listed]).encode())
    partial.replace(target)


def _configuration(layers: Sequence[Layer], settings: RunSettings) -> dict[str, object]:
    run: dict[str, object] = {"Env": [f"PATH={PATH}"], "WorkingDir": "/"}
    if settings.entrypoint:
        run["Entrypoint"] = list(settings.entrypoint)
    if settings.user:
        run["User"] = settings.user
    if settings.labels:
        run["Labels"] = dict(settings.labels)
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.sha256}" for layer in layers]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "groundcrew-bundle"} for _ in layers],
    }


def _add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o644
    tar.addfile(info, io.BytesIO(content))
