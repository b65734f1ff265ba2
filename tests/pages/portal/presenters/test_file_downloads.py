"""A file is sent whatever its type, a folder as an archive; neither leads out of its folder."""

import io
import zipfile
from pathlib import Path

import pytest
from flask import Flask

from cluster.domain.errors import NotFound
from cluster.files.safe_read import FileReader
from portal.presenters.file_downloads import send_file_below, send_folder_below


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for parent in (tmp_path, tmp_path / "top", tmp_path / "top" / "zero"):
        parent.mkdir(exist_ok=True)
        parent.chmod(0o755)
    for name, mode in (("a.html", 0o644), ("zero/b.png", 0o600)):
        (tmp_path / "top" / name).write_text("<script>")
        (tmp_path / "top" / name).chmod(mode)
    return tmp_path


def test_a_file_and_a_folder_are_attachments(root: Path) -> None:
    with Flask(__name__).test_request_context():
        file = send_file_below(root, ("top",), "a.html", "digits")
        assert (file.get_data(), file.mimetype) == (b"<script>", "application/octet-stream")
        assert file.headers["Content-Disposition"] == "attachment; filename=digits-a.html"
        file.close()
        for path, name in (("", "digits.zip"), ("zero", "digits-zero.zip")):
            folder = send_folder_below(root, ("top",), path, "digits")
            assert folder.headers["Content-Disposition"] == f"attachment; filename={name}"


def test_a_reader_gets_what_they_may_read(root: Path) -> None:
    stranger = FileReader(2**20, 2**20)
    with Flask(__name__).test_request_context():
        whole = send_folder_below(root, ("top",), "", "digits", stranger)
        assert zipfile.ZipFile(io.BytesIO(whole.get_data())).namelist() == ["a.html"]
        for path in ("zero/b.png", "", "..", "zero"):
            with pytest.raises(NotFound):
                send_file_below(root, ("top",), path, "digits", stranger)
