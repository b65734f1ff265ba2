"""The text of a dump is compressed into a file that only its owner reads; its manifest may be read by others."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from cluster.domain.errors import Unavailable
from cluster.services.backups.manifests import manifest_path
from worker.backups import dump_files
from worker.backups.dump_files import (
    measure_file,
    read_manifest_values,
    write_backup_manifest,
    write_compressed,
)


def test_pieces_become_one_compressed_file_in_place_of_an_unfinished_one(tmp_path: Path) -> None:
    path = tmp_path / "groundcrew-20261120-140000.sql.zst"
    path.with_suffix(".unfinished").write_text("of a backup that was killed")
    unfinished = write_compressed(path, iter([b"SELECT 1;\n", b"SELECT 2;\n"]))
    text = subprocess.run(["zstd", "-dc", str(unfinished)], capture_output=True, check=True).stdout
    assert text == b"SELECT 1;\nSELECT 2;\n"
    assert unfinished.stat().st_mode & 0o777 == 0o600
    assert measure_file(unfinished) == (
        unfinished.stat().st_size,
        hashlib.sha256(unfinished.read_bytes()).hexdigest(),
    )


def test_a_program_that_fails_makes_the_backup_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_files, "ZSTD", ("sh", "-c", "cat > /dev/null; echo broken >&2; exit 3"))
    with pytest.raises(Unavailable):
        write_compressed(tmp_path / "groundcrew.sql.zst", iter([b"SELECT 1;\n"]))


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    values = {"name": "groundcrew-20261120-140000.sql.zst", "rows": {"jobs": 3}, "audit_seal": [7, "abc"]}
    write_backup_manifest(tmp_path, values)
    path = manifest_path(tmp_path, values["name"])
    assert read_manifest_values(path) == values
    assert path.stat().st_mode & 0o777 == 0o640
