"""Writes the files of a dump: the compressed text, its size and digest, and its manifest."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.files.atomic import write_atomically
from cluster.services.backups.manifests import manifest_path
from worker.backups.errors import raise_if_disk_full

ZSTD = ("zstd", "--quiet", "--threads=1", "-10", "--stdout")


def write_compressed(path: Path, pieces: Iterable[bytes]) -> Path:
    """Compresses the pieces into an unfinished file."""
    unfinished = path.with_suffix(".unfinished")
    with suppress(FileNotFoundError):
        unfinished.unlink()
    with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        try:
            compress(pieces, file.fileno())
            os.fsync(file.fileno())
        except BaseException:
            unfinished.unlink()  # If the disk is full, the space is needed at once.
            raise
    return unfinished


def measure_file(file: Path) -> tuple[int, str]:
    """The size in bytes and the SHA-256."""
    with file.open("rb") as content:
        return os.fstat(content.fileno()).st_size, hashlib.file_digest(content, "sha256").hexdigest()


def compress(pieces: Iterable[bytes], target: int) -> None:
    """Raises Unavailable if zstd fails, for example because the disk is full."""
    with subprocess.Popen(ZSTD, stdin=subprocess.PIPE, stdout=target, stderr=subprocess.PIPE) as zstd:
        assert zstd.stdin is not None and zstd.stderr is not None
        with suppress(BrokenPipeError):  # The exit code of zstd tells the reason.
            for piece in pieces:
                zstd.stdin.write(piece)
        with suppress(BrokenPipeError):
            zstd.stdin.close()
        said = zstd.stderr.read().decode(errors="replace").strip()[-200:]
    if zstd.returncode != 0:
        raise_if_disk_full(said)
        raise Unavailable("backup.zstd_failed", exit_code=zstd.returncode, said=said)


def write_backup_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    # A manifest has counts and sums but no rows, so it may be read by those who may not read the backup.
    write_atomically(manifest_path(folder, manifest["name"]), text, 0o640)


def read_manifest_values(path: Path) -> dict[str, Any]:
    """Returns the whole manifest, with the parts that only drills and restores need."""
    values: dict[str, Any] = json.loads(path.read_text())
    return values
