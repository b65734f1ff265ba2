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
from worker.oci.layers import ImageLayer
from worker.oci.skopeo import SkopeoFailed, pull_image

BLOCK = 1 << 20


def download_image(reference: str, target: Path, client: MirrorClient) -> str:
    """Writes the archive and returns the digest of the manifest that the registry has for this reference.

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
    """Pulls the image and repeats failed pulls, because the skopeo of Debian 12 gives up when a connection breaks or
    the registry is busy.
    """
    for attempt in range(1, TRIES + 1):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            pull_image(reference, folder, client.mirrors)
            break
        except SkopeoFailed as failure:
            if attempt == TRIES:
                raise CollectingFailed(
                    "{name} cannot be pulled: {error}", name=reference, error=failure
                ) from failure
            time.sleep(client.pause * attempt)


def blob_path(folder: Path, digest: str) -> Path:
    """The file in which skopeo leaves a blob, after it has checked the blob's digest."""
    return folder / digest.removeprefix("sha256:")


def unpack_layer(packed: Path, diff_id: str, media_type: str) -> ImageLayer:
    """Unpacks the layer as a plain tar beside it. Raises CollectingFailed if its digest is not the configured one."""
    if not media_type.endswith(("gzip", "tar")):
        raise CollectingFailed(
            "layer {name} is packed as {kind}, which is not known here", name=packed.name, kind=media_type
        )
    path = packed.with_name(f"{packed.name}.tar")
    digest = hashlib.sha256()
    opened = gzip.open if media_type.endswith("gzip") else open
    with opened(packed, "rb") as source, path.open("wb") as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)
    if f"sha256:{digest.hexdigest()}" != diff_id:
        raise CollectingFailed(
            "layer {name} has not the content that its image's configuration names", name=packed.name
        )
    return ImageLayer(path, diff_id, diff_id)
