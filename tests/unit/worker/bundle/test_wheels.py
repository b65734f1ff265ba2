"""Wheels that are no longer pinned stay out of the bundle."""

from pathlib import Path

from worker.bundle import check
from worker.bundle.wheels import select_pinned_files


def test_what_is_no_longer_pinned_stays_out(tmp_path: Path) -> None:
    for name in ("numpy-1.whl", "numpy-2.whl", "horovod-0.tar.gz"):
        (tmp_path / name).write_text(name)
    pins = [
        f"{name} --hash=sha256:{check.sha256_of(tmp_path / name)}"
        for name in ("numpy-2.whl", "horovod-0.tar.gz")
    ]
    assert [file.name for file in select_pinned_files(tmp_path, pins)] == ["horovod-0.tar.gz", "numpy-2.whl"]
