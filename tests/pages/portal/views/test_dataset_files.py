"""What a dataset has, on its page, and as downloads; a registered folder as far as a job may read it."""

import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.states import DatasetKind, DatasetState
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from portal.shared_objects import share_object
from tests.builders import a_dataset
from tests.pages.portal.pages_lab import Lab

PNG = b"\x89PNG\r\n\x1a\n\0"


@pytest.fixture
def digits(lab: Lab) -> Dataset:
    dataset = a_dataset(lab.cluster, lab.workspace, "pictures", DatasetKind.UPLOAD)
    folder = folders.dataset_folder(lab.cluster.settings, dataset)
    (folder / "zero").mkdir(parents=True)
    for number in range(14):
        (folder / "zero" / f"{number:02}.png").write_bytes(PNG)
    (folder / "labels.csv").write_text("file,label\n00.png,<b>\n")
    (folder / "link").symlink_to("/etc/passwd")
    return dataset


@pytest.mark.parametrize(
    ("path", "seen", "unseen"),
    [
        ("", ["zero/", "labels.csv", "Download this folder as zip"], ["path=link", "<img"]),
        ("zero", ['alt="00.png"', 'alt="11.png"', "13.png"], ['alt="12.png"']),
        ("zero/00.png", ['<img src="/datasets/', "pictures</a>"], ["not text"]),
        ("labels.csv", ["label</th>", "<td>&lt;b&gt;</td>"], ["<pre"]),
    ],
)
def test_a_member_looks_at_folders_pictures_and_tables(
    lab: Lab, digits: Dataset, path: str, seen: list[str], unseen: list[str]
) -> None:
    page = lab.browser(lab.minjun).get(f"/datasets/{digits.id}/files?path={path}").text
    assert [text for text in seen if text not in page] == []
    assert [text for text in unseen if text in page] == []


def test_the_page_of_a_dataset_that_is_ready_leads_to_its_files(lab: Lab, digits: Dataset) -> None:
    browser = lab.browser(lab.minjun)
    assert f'href="/datasets/{digits.id}/files"' in browser.get(f"/datasets/{digits.id}").text
    failed = a_dataset(lab.cluster, lab.workspace, "broken", state=DatasetState.FAILED)
    assert f'href="/datasets/{failed.id}/files"' not in browser.get(f"/datasets/{failed.id}").text
    answer = browser.get(f"/datasets/{failed.id}/files")
    assert answer.status_code == 409 and "broken is not ready" in answer.text


def test_files_and_folders_are_downloaded(lab: Lab, digits: Dataset) -> None:
    browser = lab.browser(lab.minjun)
    file = browser.get(f"/datasets/{digits.id}/files/download?path=zero/00.png")
    assert (file.data, file.mimetype) == (PNG, "application/octet-stream")
    assert file.headers["Content-Disposition"] == "attachment; filename=pictures-00.png"
    whole = browser.get(f"/datasets/{digits.id}/files/archive")
    assert whole.headers["Content-Disposition"] == "attachment; filename=pictures.zip"
    assert sorted(zipfile.ZipFile(io.BytesIO(whole.data)).namelist())[:2] == ["labels.csv", "zero/00.png"]


@pytest.mark.parametrize("path", ["link", "..", "nothing", "zero/../../control", "%00"])
def test_no_path_leads_elsewhere(lab: Lab, digits: Dataset, path: str) -> None:
    browser = lab.browser(lab.minjun)
    for way in ("files", "files/download", "files/archive"):
        assert browser.get(f"/datasets/{digits.id}/{way}?path={path}").status_code == 404, way


@pytest.fixture
def registered(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A folder with a file for everybody, one for the workspace's group and one for its owner, as on servers."""
    shared = (tmp_path / "shared").resolve()
    shared.mkdir()
    settings = replace(lab.cluster.settings, dataset_roots=(shared,), state_dir=tmp_path / "state")
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    monkeypatch.setattr(folders, "IS_ROOT", True)
    (shared / "cells" / "closed").mkdir(parents=True)
    for name, mode in (("open.csv", 0o644), ("owner.csv", 0o600), ("closed/inside.csv", 0o644)):
        (shared / "cells" / name).write_text("a,b\n1,2\n")
        (shared / "cells" / name).chmod(mode)
    (shared / "cells" / "closed").chmod(0o700)
    return a_dataset(lab.cluster, lab.workspace, "cells", DatasetKind.PATH, path=str(shared / "cells"))


def open_the_way(folder: Path) -> None:
    """pytest's own folders are closed to others; a registered folder of a server is not."""
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o005)


def test_a_registered_folder_is_shown_as_far_as_a_job_of_the_person_could_read_it(
    lab: Lab, registered: Dataset
) -> None:
    open_the_way(Path(registered.path))
    browser = lab.browser(lab.minjun)
    page = browser.get(f"/datasets/{registered.id}/files").text
    assert "open.csv" in page and "owner.csv" not in page and "closed" not in page
    address = f"/datasets/{registered.id}/files/download?path="
    assert browser.get(address + "open.csv").status_code == 200
    assert browser.get(address + "owner.csv").status_code == 404
    assert browser.get(address + "closed/inside.csv").status_code == 404
    whole = browser.get(f"/datasets/{registered.id}/files/archive").data
    assert zipfile.ZipFile(io.BytesIO(whole)).namelist() == ["open.csv"]


def test_a_registered_folder_below_a_closed_one_shows_nothing(lab: Lab, registered: Dataset) -> None:
    open_the_way(Path(registered.path))
    Path(registered.path).parent.chmod(0o700)
    page = lab.browser(lab.minjun).get(f"/datasets/{registered.id}/files").text
    assert "No file can be read here" in page and "open.csv" not in page


def test_a_registered_path_that_has_become_a_link_is_refused(lab: Lab, registered: Dataset) -> None:
    folder = Path(registered.path)
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
    answer = lab.browser(lab.minjun).get(f"/datasets/{registered.id}/files")
    assert answer.status_code == 422 and "open.csv" not in answer.text
