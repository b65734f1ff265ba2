"""Datasets: uploads straight to disk, refused names with a better one, deletion that says who reads."""

import io
import re
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from cluster.domain.states import DatasetKind, DatasetState
from cluster.services import datasets
from cluster.services.people import sessions
from cluster.services.storage import folders
from cluster.store.datasets import Dataset
from portal import create_app
from tests.builders import a_dataset, a_job, actor_of
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import problem_of


def incoming(lab: Lab) -> list[str]:
    folder: Path = folders.incoming_folder(lab.cluster.settings)
    return sorted(path.name for path in folder.iterdir())


def upload(file_name: str = "images.zip", content: bytes = b"PK", **fields: str) -> dict[str, object]:
    return {"way": "upload", "name": "images", "archive": (io.BytesIO(content), file_name)} | fields


def newest(lab: Lab) -> Dataset:
    return datasets.list_datasets(lab.cluster, actor_of(lab.administrator))[0]


def test_an_upload_lands_on_disk_whole_and_becomes_an_operation(lab: Lab) -> None:
    content = bytes(range(256)) * 1500
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.minjun).post(path, data=upload(content=content))
    dataset = newest(lab)
    assert answer.status_code == 303
    assert answer.location.endswith(f"/datasets/{dataset.id}")
    assert (dataset.name, dataset.archive, dataset.state) == ("images", "images.zip", DatasetState.PREPARING)
    assert incoming(lab) == [f"dataset-{dataset.id}"]
    assert folders.incoming_archive(lab.cluster.settings, dataset.id).read_bytes() == content
    page = lab.browser(lab.minjun).get(f"/datasets/{dataset.id}").text
    assert "Preparing" in page
    assert f"/operations/{dataset.operation_id}" in page


def test_the_archives_own_name_refuses_nothing(lab: Lab) -> None:
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    assert lab.browser(lab.minjun).post(path, data=upload("큰 데이터?.zip")).status_code == 303
    assert newest(lab).archive == "keun_deiteo_.zip"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"archive_name": "큰 데이터.zip"}, {"proposed": "keun-deiteo"}),
        ({"archive_name": "a.zip", "name": "큰 데이터"}, {"name": "keun-deiteo"}),
        ({"archive_name": "a.zip", "name": "digits"}, {"name": "digits-2"}),
        ({"archive_name": "a.rar", "name": "Big"}, {"name": "big", "archive": "a.rar"}),
        ({"archive_name": "a.zip", "size": str(2**50)}, {"archive": "PiB"}),
    ],
)
def test_an_upload_is_checked_before_a_byte_of_it_is_sent(
    lab: Lab, typed: dict[str, str], told: dict[str, str]
) -> None:
    fields = {"name": "", "size": "1000"} | typed
    answer = lab.browser(lab.minjun).post(f"/workspaces/{lab.workspace.id}/datasets/check", data=fields)
    assert answer.status_code == 200
    faults = dict(re.findall(r'data-for="(\w+)">(.*?)</div>', answer.text, re.DOTALL))
    proposed = re.search(r'data-proposed-name="([^"]*)"', answer.text)
    assert proposed is not None
    assert set(faults) == set(told) - {"proposed"}
    for field, text in told.items():
        assert text in (proposed[1] if field == "proposed" else faults[field])


def test_a_stranger_checks_no_upload(lab: Lab) -> None:
    fields = {"name": "cells", "archive_name": "a.zip", "size": "1"}
    path = f"/workspaces/{lab.workspace.id}/datasets/check"
    assert lab.browser(lab.stranger).post(path, data=fields).status_code == 404


def test_a_failed_upload_offers_latin_names_and_names_the_setting(lab: Lab) -> None:
    dataset = a_dataset(
        lab.cluster,
        lab.workspace,
        name="shapes",
        kind=DatasetKind.UPLOAD,
        state=DatasetState.FAILED,
        error_code="archive.bad_names",
        error_data={"count": 2, "names": ["원", "네모"], "suggested": [["원", "weon"], ["네모", "nemo"]]},
    )
    page = lab.browser(lab.manager).get(f"/datasets/{dataset.id}").text
    assert all(word in page for word in ("원", "weon", "네모", "nemo", "GROUNDCREW_UNICODE_FILE_NAMES=yes"))
    assert f"/datasets/{dataset.id}/latin-names" in page
    shown = lab.browser(lab.minjun).get(f"/datasets/{dataset.id}").text
    assert "nemo" in shown and f"/datasets/{dataset.id}/latin-names" not in shown
    assert lab.browser(lab.minjun).post(f"/datasets/{dataset.id}/latin-names").status_code == 403


def test_all_faults_of_an_upload_are_told_at_once(lab: Lab) -> None:
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    page = lab.browser(lab.minjun).post(path, data=upload("page.html", name="No Good")).text
    assert problem_of(page, "archive") and problem_of(page, "name")
    assert "Fix 2 problems" in page and "Use no-good" in page


BAD_UPLOADS = [
    (upload("page.html"), "archive"),
    (upload(".."), "archive"),
    (upload("images.zip", name=""), "name"),
    (upload("images.zip", name="No Good"), "name"),
    (upload("images.zip", name="n" * 51), "name"),
    (upload("images.zip", name="digits"), "name"),
    ({"way": "upload", "name": "images"}, "archive"),
    ({"way": "path", "name": "images", "path": "relative/path"}, "path"),
    ({"way": "path", "name": "images", "path": ""}, "path"),
    ({"way": "path", "name": "images", "path": "/etc"}, "path"),
    ({"way": "path", "name": "images", "path": "/x" * 3000}, "path"),
]


def test_bad_input_is_said_beside_its_field_and_leaves_nothing(lab: Lab) -> None:
    browser, path = lab.browser(lab.manager), f"/workspaces/{lab.workspace.id}/datasets/new"
    for data, field in BAD_UPLOADS:
        sent = {
            key: (io.BytesIO(b"PK"), value[1]) if isinstance(value, tuple) else value
            for key, value in data.items()
        }
        answer = browser.post(path, data=sent)
        assert answer.status_code == 422, (field, data)
        assert problem_of(answer.text, field), (field, data)
        assert incoming(lab) == [], (field, data)
    assert newest(lab).name == "digits"


def test_a_path_of_the_installation_is_refused_beside_its_field(lab: Lab, tmp_path: Path) -> None:
    """Beneath the state lie the files of other workspaces."""
    settings = replace(lab.cluster.settings, dataset_roots=(tmp_path,))
    browser = create_app(replace(lab.cluster, settings=settings), testing=True).test_client()
    browser.set_cookie(
        f"gc_session_{settings.port}", sessions.begin_session(lab.cluster, lab.manager.id, "", "a test")
    )
    for folder in (tmp_path, settings.storage_dir):
        folder.mkdir(exist_ok=True)
        answer = browser.post(
            f"/workspaces/{lab.workspace.id}/datasets/new",
            data={"way": "path", "name": "theirs", "path": str(folder)},
        )
        assert answer.status_code == 422 and problem_of(answer.text, "path")
    assert newest(lab).name == "digits"


def test_an_unknown_field_is_refused_by_name(lab: Lab) -> None:
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.manager).post(path, data=upload(overwrite="1"))
    assert answer.status_code == 422
    assert "“overwrite” is no field of this form." in answer.text
    assert incoming(lab) == []


@pytest.mark.parametrize("way", ["", "nonsense"])
def test_an_unknown_way_is_refused(lab: Lab, way: str) -> None:
    data = {"way": way, "name": "images"}
    assert (
        lab.browser(lab.minjun).post(f"/workspaces/{lab.workspace.id}/datasets/new", data=data).status_code
        == 422
    )


def test_a_strangers_upload_is_not_even_received(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    forget_archives = "cluster.services.storage.orphaned_files.delete_orphaned_archives"
    monkeypatch.setattr(forget_archives, lambda cluster: opened.append("a file would be opened"))
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.stranger).post(path, data=upload(content=b"x" * 100_000))
    assert answer.status_code == 404
    assert opened == []
    assert incoming(lab) == []


def test_a_file_that_is_too_large_is_answered_before_it_is_kept(lab: Lab) -> None:
    settings = replace(lab.cluster.settings, upload_limit_bytes=10_000)
    lab.app = create_app(replace(lab.cluster, settings=settings), testing=True)
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.minjun).post(path, data=upload(content=b"x" * 20_000))
    assert answer.status_code == 413
    assert incoming(lab) == []


def test_other_pages_take_no_large_body(lab: Lab) -> None:
    answer = lab.browser(lab.minjun).post("/sign-in", data={"name": "x" * 3_000_000})
    assert answer.status_code == 413


def test_the_sample_is_one_click(lab: Lab) -> None:
    answer = lab.browser(lab.minjun).post(
        f"/workspaces/{lab.workspace.id}/datasets/new", data={"way": "sample"}
    )
    assert answer.status_code == 303
    assert newest(lab).name == "digits-2"


def test_classes_are_bars_with_numbers_and_no_style(lab: Lab) -> None:
    dataset = a_dataset(
        lab.cluster, lab.workspace, files=1797, bytes=10**6, classes=[["0", 178], ["<b>", 89]]
    )
    html = lab.browser(lab.minjun).get(f"/datasets/{dataset.id}").text
    assert 'width="50.0"' in html
    assert "&lt;b&gt;" in html
    assert "style=" not in html
    assert "267" in html


def test_a_failed_one_says_why(lab: Lab) -> None:
    dataset = a_dataset(
        lab.cluster,
        lab.workspace,
        state=DatasetState.FAILED,
        error_code="archive.empty",
        error_data={},
    )
    page = lab.browser(lab.minjun).get(f"/datasets/{dataset.id}").text
    assert "There is no file in the archive." in page
    # It has no folder that a program could read.
    assert "GROUNDCREW_DATASET" not in page and "Who uses it" not in page


def test_deleting_says_who_reads_it_and_waits_for_them(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.lenet, dataset_id=lab.dataset.id, name="the-reader")
    browser = lab.browser(lab.manager)
    html = browser.get(f"/datasets/{lab.dataset.id}/delete").text
    assert f"job-{job.id}" in html
    assert "btn-danger" not in html
    assert browser.post(f"/datasets/{lab.dataset.id}/delete").status_code == 422
    with lab.cluster.store.write() as session:
        row = session.get_one(type(job), job.id)
        row.state = row.state.FINISHED
    assert "btn-danger" in browser.get(f"/datasets/{lab.dataset.id}/delete").text
    answer = browser.post(f"/datasets/{lab.dataset.id}/delete")
    assert answer.status_code == 303
    assert "Dataset digits is deleted." in browser.get(answer.location).text
    assert browser.get(f"/datasets/{lab.dataset.id}").status_code == 404
    assert browser.get(f"/jobs/{job.id}").status_code == 200


def test_only_its_maker_and_managers_delete(lab: Lab) -> None:
    path = f"/datasets/{lab.dataset.id}/delete"
    assert lab.browser(lab.stranger).post(path).status_code == 404
    assert lab.browser(lab.minjun).post(path).status_code == 403
    assert "btn-danger" not in lab.browser(lab.minjun).get(path).text
    assert lab.browser(lab.administrator).post(path).status_code == 303


def test_lists_show_what_the_person_may_see(lab: Lab) -> None:
    assert "digits" in lab.browser(lab.minjun).get("/datasets").text
    assert "digits" not in lab.browser(lab.stranger).get("/datasets").text
    assert lab.browser(lab.stranger).get(f"/workspaces/{lab.workspace.id}/datasets").status_code == 404
    piece = lab.browser(lab.minjun).get("/datasets", headers={"HX-Request": "true"}).text
    assert "digits" in piece and "<html" not in piece


def test_a_failed_upload_can_be_made_again_under_its_name(lab: Lab) -> None:
    failed = a_dataset(
        lab.cluster,
        lab.workspace,
        name="cells",
        kind=DatasetKind.UPLOAD,
        state=DatasetState.FAILED,
        error_code="archive.empty",
        error_data={},
    )
    browser = lab.browser(lab.manager)
    page = browser.get(f"/datasets/{failed.id}").text
    address = f"/workspaces/{lab.workspace.id}/datasets/new?way=upload&name=cells"
    assert f'href="{escape(address)}"' in page and "Upload again" in page
    assert 'value="cells"' in browser.get(address).text
    assert browser.post(address.split("?")[0], data=upload(name="cells")).status_code == 303
    assert browser.get(f"/datasets/{failed.id}").status_code == 404
    assert "Upload again" not in lab.browser(lab.manager).get(f"/datasets/{newest(lab).id}").text
