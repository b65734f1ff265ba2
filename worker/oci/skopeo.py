"""Takes images out of registries and writes them as the archives that a bundle holds (OCI distribution, version 2)."""

import gzip
import hashlib
import json
import re
import shutil
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from worker.bundle.build_cache import CollectingFailed
from worker.bundle.mirrors import MirrorClient
from worker.oci.image_archive import write_docker_archive
from worker.oci.layers import Layer

LISTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
PLATFORM = {"os": "linux", "architecture": "amd64"}
REALM = re.compile(r'\b(\w{1,40})="([^"]*)"')
ALIASES = {"docker.io": "registry-1.docker.io"}
"""Registries whose names in images are not those that they answer under."""


@dataclass(frozen=True)
class Reference:
    host: str
    name: str
    tag: str


def parse_reference(text: str) -> Reference:
    """Of a full name, as registry.k8s.io/pause:3.10.1."""
    rest, _, tag = text.rpartition(":")
    host, _, name = rest.partition("/")
    return Reference(ALIASES.get(host, host), name, tag)


def pull(reference: str, target: Path, fetcher: MirrorClient) -> str:
    """Writes the archive and returns the digest of the manifest that the registry has under this name.

    Layers that an interrupted run has fetched stand beside it and are not fetched again.
    """
    place = parse_reference(reference)
    base = f"https://{place.host}/v2/{place.name}"
    with_token = _token(f"{base}/manifests/{place.tag}", fetcher)
    manifest, digest = _manifest(base, place.tag, with_token, fetcher)
    blobs = target.with_name(f"{target.name}.blobs")
    blobs.mkdir(exist_ok=True)
    configuration = _blob(base, manifest["config"]["digest"], blobs, with_token, fetcher).read_bytes()
    wanted = json.loads(configuration)["rootfs"]["diff_ids"]
    layers = []
    for layer, diff in zip(manifest["layers"], wanted, strict=True):
        packed = _blob(base, layer["digest"], blobs, with_token, fetcher)
        layers.append(_unpacked(packed, diff, layer["mediaType"]))
    write_docker_archive(target, reference, layers, configuration)
    shutil.rmtree(blobs)
    return digest


def _token(url: str, fetcher: MirrorClient) -> dict[str, str]:
    """Headers by which the registry lets anybody read: it says itself where they are had."""
    try:
        fetcher.open(url, {"Accept": ", ".join((*LISTS, *MANIFESTS))}).close()
        return {}
    except urllib.error.HTTPError as error:
        with error:
            asked = dict(REALM.findall(error.headers.get("WWW-Authenticate", "")))
            if error.code != 401 or "realm" not in asked:
                raise CollectingFailed(f"{error.url} answered {error.code} {error.reason}") from error
    question = urlencode({name: value for name, value in asked.items() if name in {"service", "scope"}})
    answer = fetcher.json(f"{asked['realm']}?{question}")
    return {"Authorization": f"Bearer {answer.get('token') or answer['access_token']}"}


def _manifest(
    base: str, name: str, headers: Mapping[str, str], fetcher: MirrorClient
) -> tuple[dict[str, Any], str]:
    """The one for our platform, with its digest."""
    accepted = {**headers, "Accept": ", ".join((*LISTS, *MANIFESTS))}
    content = fetcher.read(f"{base}/manifests/{name}", accepted)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if name.startswith("sha256:") and name != digest:
        raise CollectingFailed(f"{base} gives under {name} what has the digest {digest}")
    read: dict[str, Any] = json.loads(content)
    if "manifests" not in read:
        return read, digest
    for each in read["manifests"]:
        if PLATFORM.items() <= each.get("platform", {}).items():
            return _manifest(base, each["digest"], headers, fetcher)
    raise CollectingFailed(f"{base} has {name} for no Linux on amd64")


def _blob(base: str, digest: str, folder: Path, headers: Mapping[str, str], fetcher: MirrorClient) -> Path:
    path = folder / digest.replace(":", "-")
    if not path.exists():
        fetched = folder / f"{path.name}.fetched"
        fetcher.file(f"{base}/blobs/{digest}", fetched, headers)
        with fetched.open("rb") as file:
            found = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        if found != digest:
            fetched.unlink()
            raise CollectingFailed(f"{base} gave for {digest} what has the sum {found}; it was thrown away.")
        fetched.rename(path)
    return path


def _unpacked(packed: Path, diff: str, kind: str) -> Layer:
    if not kind.endswith(("gzip", "tar")):
        raise CollectingFailed(f"layer {packed.name} is packed as {kind}, which is not known here")
    path = packed.with_name(f"{packed.name}.tar")
    digest = hashlib.sha256()
    opened = gzip.open if kind.endswith("gzip") else open
    with opened(packed, "rb") as source, path.open("wb") as target:
        while block := source.read(1 << 20):
            digest.update(block)
            target.write(block)
    if f"sha256:{digest.hexdigest()}" != diff:
        raise CollectingFailed(
            f"layer {packed.name} has not the content that its image's configuration names"
        )
    return Layer(path, diff, diff)
