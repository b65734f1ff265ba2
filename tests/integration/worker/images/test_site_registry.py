"""The distribution's registry with TLS and a login, and what is put into it by digest."""

import grp
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from cluster.domain.images import DefaultImage
from tests.conftest import IS_CI
from tests.free_ports import free_port
from tests.unit.roles.rendering import ROOT, render
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate
from worker.images import site_images
from worker.images.image_record import write_image_record
from worker.images.registry_storage import blob_path
from worker.images.site_images import ImageSite
from worker.images.site_registry import REGISTRY_USER, RegistryFailed, SiteRegistry
from worker.oci.image_archive import ImageConfig, write_oci_archive
from worker.oci.layers import pack_folder_layer

TOOLS = ("docker-registry", "htpasswd", "skopeo")
STARTS_WITHIN = 60
"""Seconds."""


@dataclass(frozen=True)
class Ground:
    registry: SiteRegistry
    storage: Path
    archive: Path
    record: DefaultImage


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
        registry = SiteRegistry(f"127.0.0.1:{port}", tmp_path / "trust", tmp_path / "password")
        wait_for(registry, registry_process)
        archive, record = an_image(tmp_path)
        yield Ground(registry, tmp_path / "storage", archive, record)
        registry_process.terminate()


def serving(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """By the role's own template; nginx's part is played by the registry itself."""
    login = ["htpasswd", "-c", "-B", "-i", str(folder / "htpasswd"), REGISTRY_USER]
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


def wait_for(registry: SiteRegistry, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            assert registry.request("GET", "/v2/") is not None
            return
        except RegistryFailed:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)


def an_image(folder: Path) -> tuple[Path, DefaultImage]:
    (folder / "root" / "opt").mkdir(parents=True)
    (folder / "root" / "opt" / "lib.py").write_text("x = 1")
    layer = pack_folder_layer(folder / "root", ["."], folder / "layer", "a test")
    at = datetime(2026, 11, 21, tzinfo=UTC)
    packed = write_oci_archive(folder / "image.tar", "groundcrew-default:cpu-1", [layer], ImageConfig())
    record = DefaultImage(
        "groundcrew-default", "cpu", "cpu-1", packed.digest, packed.size, "debian-12", at, ()
    )
    return folder / "image.tar", record


def test_what_is_pushed_stands_under_its_own_digest(ground: Ground) -> None:
    assert ground.registry.list_missing_digests(ground.record) == [ground.record.digest]
    ground.registry.push_archive(ground.archive, ground.record)
    assert ground.registry.list_missing_digests(ground.record) == []
    manifest = ground.registry.request("GET", f"/v2/groundcrew-default/manifests/{ground.record.digest}")
    assert manifest is not None and len(manifest.json()["layers"]) == 1


def test_a_lost_layer_is_seen_and_put_back(ground: Ground) -> None:
    ground.registry.push_archive(ground.archive, ground.record)
    blobs = sorted(
        ground.storage.glob("docker/registry/v2/blobs/sha256/*/*/data"), key=lambda path: path.stat().st_size
    )
    layer = next(path for path in blobs if path.read_bytes()[:2] == b"\x1f\x8b")
    shutil.rmtree(layer.parent)
    assert ground.registry.list_missing_digests(ground.record) == [f"sha256:{layer.parent.name}"]
    ground.registry.push_archive(ground.archive, ground.record)
    assert ground.registry.list_missing_digests(ground.record) == []


def layer_of(ground: Ground) -> Path:
    """Its file in the registry's own folder."""
    blobs = ground.storage.glob("docker/registry/v2/blobs/sha256/*/*/data")
    return next(path for path in blobs if path.read_bytes()[:2] == b"\x1f\x8b")


def a_site_of(ground: Ground) -> ImageSite:
    return ImageSite(
        registry=ground.registry,
        variants=("cpu",),
        cache=ground.archive.parent,
        wheels=ground.archive.parent,
        bundle=ground.archive.parent,
        uv=Path("/bin/true"),
        log=ground.archive.with_suffix(".log"),
        storage=ground.storage,
    )


@pytest.fixture
def offered(ground: Ground) -> Ground:
    """As a bundle offers it."""
    archive = ground.archive.rename(ground.archive.with_name("groundcrew-default-cpu.tar"))
    write_image_record(archive, ground.record)
    ground.registry.push_archive(archive, ground.record)
    return replace(ground, archive=archive)


def test_a_layer_that_became_shorter_is_seen_and_put_back(offered: Ground) -> None:
    """As where the disk was full or the power failed: the registry gives it out so, and takes no other in."""
    layer = layer_of(offered)
    whole = layer.read_bytes()
    layer.write_bytes(whole[:-10])
    assert site_images.list_missing_images(a_site_of(offered)) == ["groundcrew-default-cpu"]
    assert site_images.push_missing_images(a_site_of(offered))
    assert layer.read_bytes() == whole and site_images.list_missing_images(a_site_of(offered)) == []


@pytest.mark.parametrize("what", ["a layer", "the manifest"])
def test_changed_bytes_are_put_back_by_the_repair(offered: Ground, what: str) -> None:
    layer = layer_of(offered)
    damaged = layer if what == "a layer" else blob_path(offered.storage, offered.record.digest)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    site_images.push_missing_images(a_site_of(offered), is_thorough=True)
    assert damaged.read_bytes() == whole and site_images.list_missing_images(a_site_of(offered)) == []


def test_a_certificate_of_the_sites_own_is_trusted_as_it_is(ground: Ground, tmp_path: Path) -> None:
    """Without the authority that has signed it."""
    (tmp_path / "own").mkdir()
    chain = (tmp_path / "portal.pem").read_text()
    leaf = chain[: chain.index("-----END CERTIFICATE-----")] + "-----END CERTIFICATE-----\n"
    (tmp_path / "own" / "ca.crt").write_text(leaf)
    assert replace(ground.registry, trust=tmp_path / "own").list_missing_digests(ground.record) == [
        ground.record.digest
    ]


@pytest.mark.parametrize("group", ["root", "registry"])
def test_a_login_that_the_registry_could_not_read_is_written_anew(tmp_path: Path, group: str) -> None:
    """A run that was killed between the file and its owner has left one that only root reads."""
    if os.geteuid() != 0 or shutil.which("htpasswd") is None:
        (pytest.fail if IS_CI else pytest.skip)("wants root, and htpasswd")
    tasks = yaml.safe_load((ROOT / "roles" / "registry" / "tasks" / "registry.yml").read_text())
    (task,) = [task for task in tasks if task["name"] == "Let the password in"]
    command = task["ansible.builtin.shell"]["cmd"].replace("docker-registry", "daemon")
    (tmp_path / "password").write_text("0123abcd\n")
    login = ["htpasswd", "-c", "-b", "-B", str(tmp_path / "htpasswd"), REGISTRY_USER, "0123abcd"]
    subprocess.run(login, check=True, capture_output=True)
    shutil.chown(tmp_path / "htpasswd", 0, "root" if group == "root" else "daemon")
    (tmp_path / "htpasswd").chmod(0o640)

    def let_in() -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    assert let_in() == ("written" if group == "root" else "")
    found = (tmp_path / "htpasswd").stat()
    assert (grp.getgrgid(found.st_gid).gr_name, found.st_mode & 0o777) == ("daemon", 0o640)
    assert let_in() == "" and sorted(path.name for path in tmp_path.iterdir()) == ["htpasswd", "password"]


def test_nobody_is_let_in_without_the_password(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "guessed").write_text("guessed\n")
    stranger = replace(ground.registry, password=tmp_path / "guessed")
    with pytest.raises(RegistryFailed, match="401"):
        stranger.list_missing_digests(ground.record)
    with pytest.raises(RegistryFailed):
        stranger.push_archive(ground.archive, ground.record)
    assert ground.registry.list_missing_digests(ground.record) == [ground.record.digest]


def test_a_registry_that_is_another_is_not_believed(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ensure_authority(tmp_path / "other", "another")
    shutil.copy(tmp_path / "other" / "authority.pem", tmp_path / "other" / "ca.crt")
    with pytest.raises(RegistryFailed, match="certificate verify failed"):
        replace(ground.registry, trust=tmp_path / "other").list_missing_digests(ground.record)
