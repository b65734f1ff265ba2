"""The bundle of the tests, made once for all that decides what is in it."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.hosts.appliance.conftest import ROOT
from worker.environments.build_platform import PYTHON, read_build_platform
from worker.images.description import inputs_digest, read_variant

NAME = "bundle-of-tests"
DECIDES = (
    "inventory/group_vars/all/sources.yml",
    "requirements",
    "worker/bundle",
    "worker/environments/default",
)
"""Of the checkout; packages of the distribution are those of the day on which a bundle is made."""


def name_of_bundle(root: Path) -> str:
    content = hashlib.sha256(inputs_digest(read_variant("cpu"), read_build_platform(PYTHON)).encode())
    places = [root / place for place in DECIDES]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            content.update(f"\0{file.relative_to(root)}\0".encode() + file.read_bytes())
    return f"{NAME}-{content.hexdigest()[:12]}"


@contextmanager
def kept_bundle(cache: Path) -> Iterator[Path]:
    """Nobody deletes it while it is in use; those of other inputs that nobody uses go before one is made."""
    folder = cache / name_of_bundle(ROOT)
    with lock_of(folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "manifest.json").exists():
            delete_others(folder)
            subprocess.run(
                [sys.executable, "-m", "worker.bundle", "build", str(folder)], cwd=ROOT, check=True
            )
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield folder


def delete_others(folder: Path) -> None:
    for other in folder.parent.glob(f"{NAME}-*/"):
        with lock_of(other.with_suffix("")) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(other, ignore_errors=True)


def lock_of(folder: Path) -> IO[str]:
    return (folder.parent / f".{folder.name}.lock").open("w")
