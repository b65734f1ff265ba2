"""The image that container tests run: Debian's base and its Python, made by debootstrap, no registry asked.

The machine's own package sources and certificates are used. The training environment is not in it: a job
sees the machine's built one read-only, at the same path.
"""

import fcntl
import hashlib
import inspect
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import docker
import pytest

from tests.conftest import IS_CI
from tests.containers.engine import CACHE, SOCKET, ensure_engine
from tests.hosts.bare_machine import bring_what_the_site_gives_every_machine
from tests.machine.system_packages import packages_for
from worker.bootstrap.system_packages import ensure_packages

SUITE = "bookworm"
PACKAGES = "ca-certificates,python3"
UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists")


def ensure_image(socket: Path = SOCKET) -> str:
    """The image's name, in the engine behind this socket; half a minute the first time on a machine."""
    if socket == SOCKET:
        ensure_engine()
    name = f"gc-test-training:{digest()}"
    client = docker.APIClient(f"unix://{socket}", timeout=120)
    try:
        if not client.images(name):
            client.import_image_from_file(str(ensure_archive()), *name.split(":"))
    finally:
        client.close()
    return name


def image_or_skip() -> str:
    """For a test: without an engine it is skipped with the reason, in CI it fails."""
    try:
        return ensure_image()
    except RuntimeError as missing:
        (pytest.fail if IS_CI else pytest.skip)(str(missing))


def digest() -> str:
    """Changes with this recipe."""
    recipe = repr((SUITE, PACKAGES, UNNEEDED)) + inspect.getsource(make_archive)
    return hashlib.sha256(recipe.encode()).hexdigest()[:12]


def ensure_archive() -> Path:
    """The root file system as a tar archive in the machine's cache."""
    archive = CACHE / f"test-image-{digest()}.tar"
    if archive.exists():
        return archive
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".test-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            ensure_packages(packages_for("test"), CACHE / "log" / "install.log")
            with tempfile.TemporaryDirectory(prefix="gc-test-image-", dir="/var/tmp") as folder:
                make_archive(Path(folder), archive)
    return archive


def make_archive(folder: Path, archive: Path) -> None:
    root = folder / "root"
    debootstrap = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root)]
    subprocess.run(debootstrap, check=True, stdout=subprocess.DEVNULL)
    bring_what_the_site_gives_every_machine(root)
    for each in UNNEEDED:
        shutil.rmtree(root / each, ignore_errors=True)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    tar = ["tar", "--create", "--numeric-owner", "--one-file-system", f"--directory={root}"]
    subprocess.run([*tar, f"--file={unfinished}", "."], check=True)
    unfinished.rename(archive)


if __name__ == "__main__":
    print(ensure_image())
