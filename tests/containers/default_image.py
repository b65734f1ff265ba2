"""The CPU variant of the default image, built once per machine, in the engine that tests use."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from cluster.domain.images import DefaultImage
from tests.conftest import IS_CI
from tests.containers.engine import SOCKET, ensure_engine
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.system_packages import IMAGE_BUILD_PACKAGES, ensure_packages
from worker.images.build import build_image
from worker.images.description import read_variant
from worker.images.image_record import read_image_record

LOADS_WITHIN = 600
"""Seconds."""


@dataclass(frozen=True)
class Built:
    archive: Path
    record: DefaultImage


def built_or_skip() -> Built:
    """Minutes the first time on a machine. Without root or uv a test is skipped with the reason, in CI it fails."""
    uv = shutil.which("uv")
    if os.geteuid() != 0 or uv is None:
        (pytest.fail if IS_CI else pytest.skip)("the default image is built by root, with uv on PATH")
    cache = find_installation_paths().cache_dir
    ensure_packages(IMAGE_BUILD_PACKAGES, cache / "log" / "install.log")
    place = cache / "images"
    archive = build_image(
        read_variant("cpu"), place, lambda *_: None, uv=Path(uv), log=place / "build.log", known=cache
    )
    record = read_image_record(archive)
    assert record is not None
    return Built(archive, record)


def ensure_loaded(built: Built) -> str:
    """Its name in the engine."""
    ensure_engine()
    client = docker.APIClient(f"unix://{SOCKET}", timeout=LOADS_WITHIN)
    try:
        if not client.images(built.record.reference):
            with built.archive.open("rb") as archive:
                for _ in client.load_image(archive):
                    pass
    finally:
        client.close()
    return built.record.reference
