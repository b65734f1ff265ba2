"""Download images from their registries and write them as the archives that a bundle holds."""

import gzip
import hashlib
import json
import shutil
import time
from pathlib import Path

from cluster.files.atomic import UNFINISHED
from worker.bundle.build_cache import CollectingFailed
from worker.bundle.mirrors import TRIES, MirrorClient
from worker.oci.image_archive import write_docker_archive
from worker.oci.layers import Layer
from worker.oci.skopeo import SkopeoFailed, pull_image

BLOCK = 1 << 20


def download_image(reference: str, target: Path, client: MirrorClient) -> str:
    """Writes the archive and returns the digest of the manifest that the registry has under this name.

    Raises CollectingFailed.
    """
    folder = target.with_name(f"{target.name}.pulled")
    pull_patiently(reference, folder, client)
    content = (folder / "manifest.json").read_bytes()
    manifest = json.loads(content)
    configuration = blob_path(folder, manifest["config"]["digest"]).read_bytes()
    diff_ids = json.loads(configuration)["rootfs"]["diff_ids"]
    layers = [
        unpack_layer(blob_path(folder, layer["digest"]), diff_id, layer["mediaType"])
        for layer, diff_id in zip(manifest["layers"], diff_ids, strict=True)
    ]
    for left_by_a_killed_run in target.parent.glob(f".{target.name}.*{UNFINISHED}"):
        left_by_a_killed_run.unlink()
    write_docker_archive(target, reference, layers, configuration)
    shutil.rmtree(folder)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def pull_patiently(reference: str, folder: Path, client: MirrorClient) -> None:
    """The skopeo of Debian 12 gives up where the line breaks or the server is busy, and begins the image anew."""
    for attempt in range(1, TRIES + 1):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            pull_image(reference, folder, client.mirrors)
            break
        except SkopeoFailed as failure:
            if attempt == TRIES:
                raise CollectingFailed(f"{reference} cannot be pulled: {failure}") from failure
            time.sleep(client.pause * attempt)


def blob_path(folder: Path, digest: str) -> Path:
    """Where skopeo leaves a blob; it has compared its bytes with the digest."""
    return folder / digest.removeprefix("sha256:")


def unpack_layer(packed: Path, diff_id: str, media_type: str) -> Layer:
    """As a plain tar beside it. Raises CollectingFailed where that is not the one that the configuration names."""
    if not media_type.endswith(("gzip", "tar")):
        raise CollectingFailed(f"layer {packed.name} is packed as {media_type}, which is not known here")
    path = packed.with_name(f"{packed.name}.tar")
    digest = hashlib.sha256()
    opened = gzip.open if media_type.endswith("gzip") else open
    with opened(packed, "rb") as source, path.open("wb") as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)
    if f"sha256:{digest.hexdigest()}" != diff_id:
        raise CollectingFailed(
            f"layer {packed.name} has not the content that its image's configuration names"
        )
    return Layer(path, diff_id, diff_id)
