"""Archives of datasets come over REST and by the command, checked before a byte is sent."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.states import DatasetState
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from tests.builders import a_user
from tests.pages.portal.command_lab import Run, run
from tests.pages.portal.rest_lab import Lab

__all__ = ["run"]


def an_archive(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return content.getvalue()


def test_an_archive_is_taken_in_as_the_page_takes_it(lab: Lab) -> None:
    content, headers = an_archive(a__txt="a"), lab.headers()
    path = f"/api/v1/workspaces/{lab.workspace.id}/datasets"
    made = lab.client.post(
        path, data={"name": "flowers", "archive": (io.BytesIO(content), "f.zip")}, headers=headers
    )
    assert (made.status_code, made.json["name"], made.json["state"]) == (201, "flowers", "preparing")
    assert made.headers["Location"] == f"/api/v1/datasets/{made.json['id']}"
    assert folders.incoming_archive(lab.cluster.settings, made.json["id"]).read_bytes() == content
    again = lab.client.post(
        path, data={"name": "flowers", "archive": (io.BytesIO(content), "f.zip")}, headers=headers
    )
    assert (again.status_code, again.json["errors"][0]["pointer"]) == (422, "/name")
    kept = list(folders.incoming_folder(lab.cluster.settings).glob(f"{folders.UPLOAD_PREFIX}*"))
    assert kept == [], "a refused archive is not kept"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "Bad Name", "archive_name": "f.zip", "size": 1}, "/name"),
        ({"name": "digits", "archive_name": "f.zip", "size": 1}, "/name"),
        ({"archive_name": "f.rar", "size": 1}, "/archive"),
        ({"archive_name": "f.zip", "size": 2**50}, "/archive"),
        ({"size": 1}, "/archive_name"),
    ],
)
def test_what_would_refuse_an_upload_is_said_before_it(lab: Lab, body: dict[str, Any], pointer: str) -> None:
    path = f"/api/v1/workspaces/{lab.workspace.id}/datasets/check"
    answer = lab.client.post(path, json=body, headers=lab.headers())
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, pointer)


def test_strangers_and_tokens_that_only_read_upload_nothing(lab: Lab) -> None:
    path = f"/api/v1/workspaces/{lab.workspace.id}/datasets"
    for headers, status in (
        (lab.headers(a_user(lab.cluster, "nobody")), 404),
        (lab.headers(scopes=("read",)), 403),
    ):
        data = {"name": "flowers", "archive": (io.BytesIO(b"x"), "f.zip")}
        assert lab.client.post(path, data=data, headers=headers).status_code == status
        body = {"archive_name": "f.zip", "size": 1}
        assert lab.client.post(f"{path}/check", json=body, headers=headers).status_code == status
    assert list(folders.incoming_folder(lab.cluster.settings).iterdir()) == []


def test_the_command_uploads_a_dataset(lab: Lab, run: Run, tmp_path: Path) -> None:
    archive = tmp_path / "My Flowers.zip"
    archive.write_bytes(an_archive(a__txt="a" * 1_000_000))
    assert run("dataset", "upload", "vision", str(archive)).stdout == "vision/my-flowers\n"
    assert run("dataset", "upload", "vision/roses", str(archive)).stdout == "vision/roses\n"
    with lab.cluster.store.read() as session:
        dataset = session.query(Dataset).filter_by(name="roses").one()
    assert dataset.state is DatasetState.PREPARING
    received = folders.incoming_archive(lab.cluster.settings, dataset.id)
    assert received.read_bytes() == archive.read_bytes()
    assert "roses" in run("dataset", "upload", "vision/roses", str(archive), expected=6).stderr
    other = tmp_path / "flowers.rar"
    other.write_bytes(b"x")
    assert "archive" in run("dataset", "upload", "vision", str(other), expected=6).stderr
