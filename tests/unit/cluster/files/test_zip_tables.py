"""The entries of a zip are counted before zipfile makes an object of each."""

import zipfile
from pathlib import Path

import pytest

from cluster.files import zip_tables


def test_a_zip_of_the_64_bit_form_is_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "many.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for number in range(70_000):
            packed.writestr(zipfile.ZipInfo(str(number)), b"")
    zip_tables.check_zip_table(archive)
    monkeypatch.setattr(zip_tables, "ZIP_ENTRIES", 69_999)
    with pytest.raises(zip_tables.TooManyEntries) as refused:
        zip_tables.check_zip_table(archive)
    assert refused.value.count == 70_000
