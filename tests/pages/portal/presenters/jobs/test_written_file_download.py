"""The name under which a downloaded file is kept."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from portal.presenters.jobs.written_file_download import send_written_file, send_written_folder


@pytest.mark.parametrize(
    ("send", "path", "kept"),
    [
        (send_written_file, "weights.bin", "job-7-attempt-2-weights.bin"),
        (send_written_file, 'a"; b.csv', "job-7-attempt-2-a"),
        (send_written_folder, "results", "job-7-attempt-2-results.zip"),
        (send_written_folder, "", "job-7-attempt-2-out.zip"),
    ],
)
def test_a_download_is_an_attachment_that_names_its_job_and_attempt(
    tmp_path: Path, send: Any, path: str, kept: str
) -> None:
    (tmp_path / "out" / "results").mkdir(parents=True)
    for name in ("weights.bin", 'a"; b.csv'):
        (tmp_path / "out" / name).write_bytes(b"x")
    files = SimpleNamespace(root=tmp_path, out=("out",))
    with Flask(__name__).test_request_context():
        response = send(SimpleNamespace(job=SimpleNamespace(id=7), number=2, files=files), path)
    response.close()
    kind, _, parameters = response.headers["Content-Disposition"].partition("; ")
    assert kind == "attachment" and kept in parameters
