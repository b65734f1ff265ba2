"""An image is there once its record and its archive are."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cluster.domain.images import DefaultImage, LibraryVersion
from worker.images.image_record import read_image_record, write_image_record

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_an_image_without_its_record_or_its_archive_is_not_there(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    record = DefaultImage(
        "groundcrew-default", "cpu", "cpu-1", "sha256:1", 5, "debian-12", AT, (LibraryVersion("a", "1", "b"),)
    )
    record = replace(record, gpu_code={"9.0": {"torch": "own", "tensorflow": "by_ptx"}})
    write_image_record(archive, record)
    assert read_image_record(archive) is None
    archive.touch()
    assert read_image_record(archive) == record
    (tmp_path / "image.json").write_text('{"name": "groundcrew-default"')
    assert read_image_record(archive) is None
