"""The distribution's registry with TLS and a login, and what is put into it by digest."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from cluster.domain.images import Image
from tests.conftest import IS_CI
from tests.ports import free_port
from tests.unit.roles.rendering import render
from worker.adapters.certificates import ensure_authority, ensure_certificate
from worker.images.archive import Setup, pack_layer, write_archive
from worker.images.registry import LOGIN, Registry, RegistryFailed

TOOLS = ("docker-registry", "htpasswd", "skopeo")
STARTS_WITHIN = 60
"""Seconds."""


@dataclass(frozen=True)
class Ground:
    registry: Registry
    storage: Path
    archive: Path
    record: Image


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        (pytest.fail if IS_CI else pytest.skip)(f"not on this machine: {', '.join(missing)}")
    (tmp_path / "trust").mkdir()
    (tmp_path / "password").write_text("0123abcd\n")
    ensure_authority(tmp_path, "a test")
    ensure_certificate(tmp_path, ["127.0.0.1"])
    shutil.copy(tmp_path / "authority.pem", tmp_path / "trust" / "ca.crt")
    port = free_port()
    with serving(tmp_path, port) as registry_process:
        registry = Registry(f"127.0.0.1:{port}", tmp_path / "trust", tmp_path / "password")
        wait_for(registry, registry_process)
        archive, record = an_image(tmp_path)
        yield Ground(registry, tmp_path / "storage", archive, record)
        registry_process.terminate()


def serving(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """By the role's own template; nginx's part is played by the registry itself."""
    login = ["htpasswd", "-c", "-B", "-i", str(folder / "htpasswd"), LOGIN]
    subprocess.run(login, input=b"0123abcd\n", check=True, capture_output=True)
    configuration = yaml.safe_load(render("registry", "registry.yml"))
    configuration["storage"]["filesystem"]["rootdirectory"] = str(folder / "storage")
    tls = {"certificate": str(folder / "portal.pem"), "key": str(folder / "portal.key")}
    configuration["http"] |= {"addr": f"127.0.0.1:{port}", "tls": tls}
    configuration["auth"]["htpasswd"]["path"] = str(folder / "htpasswd")
    (folder / "registry.yml").write_text(yaml.safe_dump(configuration))
    with (folder / "registry.log").open("wb") as log:
        return subprocess.Popen(
            ["docker-registry", "serve", str(folder / "registry.yml")], stdout=log, stderr=log
        )


def wait_for(registry: Registry, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            assert registry.read("/v2/") is not None
            return
        except RegistryFailed:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)


def an_image(folder: Path) -> tuple[Path, Image]:
    (folder / "root" / "opt").mkdir(parents=True)
    (folder / "root" / "opt" / "lib.py").write_text("x = 1")
    (folder / "layers").mkdir()
    layer = pack_layer(folder / "root", ["."], folder / "layers", "a test")
    at = datetime(2026, 11, 21, tzinfo=UTC)
    setup = Setup("x86_64", at, 1000, "/", {}, {})
    packed = write_archive([layer], setup, "groundcrew-default:cpu-1", folder / "image.tar")
    record = Image("groundcrew-default", "cpu", "cpu-1", packed.digest, packed.size, "debian-12", at, ())
    return folder / "image.tar", record


def test_what_is_pushed_stands_under_its_own_digest(ground: Ground) -> None:
    assert ground.registry.missing(ground.record) == [ground.record.digest]
    ground.registry.push(ground.archive, ground.record)
    assert ground.registry.missing(ground.record) == []
    manifest = ground.registry.read(f"/v2/groundcrew-default/manifests/{ground.record.digest}")
    assert manifest is not None and len(json.loads(manifest)["layers"]) == 1


def test_a_lost_layer_is_seen_and_put_back(ground: Ground) -> None:
    ground.registry.push(ground.archive, ground.record)
    blobs = sorted(
        ground.storage.glob("docker/registry/v2/blobs/sha256/*/*/data"), key=lambda path: path.stat().st_size
    )
    layer = next(path for path in blobs if path.read_bytes()[:2] == b"\x1f\x8b")
    shutil.rmtree(layer.parent)
    assert ground.registry.missing(ground.record) == [f"sha256:{layer.parent.name}"]
    ground.registry.push(ground.archive, ground.record)
    assert ground.registry.missing(ground.record) == []


def test_nobody_is_let_in_without_the_password(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "guessed").write_text("guessed\n")
    stranger = replace(ground.registry, password=tmp_path / "guessed")
    with pytest.raises(RegistryFailed, match="401"):
        stranger.missing(ground.record)
    with pytest.raises(RegistryFailed):
        stranger.push(ground.archive, ground.record)
    assert ground.registry.missing(ground.record) == [ground.record.digest]


def test_a_registry_that_is_another_is_not_believed(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ensure_authority(tmp_path / "other", "another")
    shutil.copy(tmp_path / "other" / "authority.pem", tmp_path / "other" / "ca.crt")
    with pytest.raises(RegistryFailed, match="certificate verify failed"):
        replace(ground.registry, trust=tmp_path / "other").missing(ground.record)
