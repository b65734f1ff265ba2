"""Pack the root file system of an image as its archive, and write the record beside it."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cluster.domain.images import DefaultImage, LibraryVersion
from worker.environments.build_platform import BuildPlatform
from worker.environments.build_steps import BuildStepProgress
from worker.environments.manifest import EnvironmentManifest, write_environment_manifest
from worker.images.description import ENVIRONMENT_PATH, ImageVariant, inputs_digest
from worker.images.image_record import write_image_record
from worker.oci.image_archive import ImageConfig, write_oci_archive
from worker.oci.layers import pack_folder_layer

OPT = "./opt"


def pack_image(
    root: Path,
    variant: ImageVariant,
    machine: BuildPlatform,
    variables: Mapping[str, str],
    contents: tuple[LibraryVersion, ...],
    layers: Path,
    target: Path,
    progress: BuildStepProgress,
    gpu_code: Mapping[str, Mapping[str, str]],
) -> None:
    """Packs the image in two layers, so that nodes pull a new Python environment without the system below it.

    `layers` is an empty folder on the disk of `target`. The record is written last.
    """
    digest = inputs_digest(variant, machine)
    manifest = EnvironmentManifest(digest, variant.environment.variables, contents)
    write_environment_manifest(root / ENVIRONMENT_PATH.relative_to("/"), manifest)
    made_at = datetime.now(UTC).replace(microsecond=0)
    distribution, without = f"Distribution {machine.system}", [OPT, "./dev/*"]
    system = pack_folder_layer(root, ["."], layers / "system", distribution, without)
    progress.advance(0.4)
    packages = pack_folder_layer(root, [OPT], layers / "packages", f"Python environment {digest}")
    progress.advance(0.8)
    tag = f"{variant.name}-{digest}"
    config = image_config(variant, variables, digest, made_at)
    packed = write_oci_archive(target, f"{variant.image}:{tag}", [system, packages], config)
    record = DefaultImage(
        variant.image,
        variant.name,
        tag,
        packed.digest,
        packed.size,
        machine.system,
        made_at,
        contents,
        gpu_code=gpu_code,
    )
    write_image_record(target, record)
    progress.advance(1.0)


def image_config(
    variant: ImageVariant, variables: Mapping[str, str], digest: str, made_at: datetime
) -> ImageConfig:
    """The image's configuration: its default command is a shell of the image's own user in the user's home."""
    user = variant.user
    labels = {
        "org.opencontainers.image.title": variant.image,
        "groundcrew.variant": variant.name,
        "groundcrew.inputs": digest,
    }
    return ImageConfig(
        environment=variables,
        working_dir=f"/home/{user.name}",
        user=f"{user.number}:{user.number}",
        command=("/bin/bash",),
        labels=labels,
        architecture=platform.machine(),
        created=made_at.isoformat(),
    )
