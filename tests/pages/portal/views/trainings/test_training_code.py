"""The code of a training: its tree, files, versions, archives and differences, and new versions by hand."""

import html
import io
import re
import zipfile

import pytest

from cluster.services import code_versions, trainings
from cluster.store.trainings import CodeVersion
from cluster.store.users import User
from tests.builders import a_code_version, actor_of
from tests.pages.portal.pages_lab import Lab

TREE = [("train.py", b"one = 1\nprint(one)\n"), ("net/conv.py", b"x = 1\n"), ("net/logo.png", b"\x89PNG\0")]


@pytest.fixture
def path(lab: Lab) -> str:
    a_code_version(lab.cluster, lab.own_code, TREE)
    return f"/trainings/{lab.own_code.id}/code"


def upload(lab: Lab, path: str, user: User | None = None, **fields: list[tuple[str, bytes]]) -> int:
    data = {name: [(io.BytesIO(content), file) for file, content in files] for name, files in fields.items()}
    return lab.browser(user or lab.seoyeon).post(path, data=data).status_code


def paths_of(lab: Lab, number: int) -> list[str]:
    found = trainings.read_training(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id)
    return [file.path for file in code_versions.read_manifest(lab.cluster, found, number)]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_folders_open_and_files_are_shown(lab: Lab, path: str, language: str) -> None:
    browser = lab.browser(lab.minjun, language)
    root = browser.get(path).text
    assert "train.py" in root and "net/" in root and "conv.py" not in root
    assert "conv.py" in browser.get(f"{path}?path=net").text
    assert "x = 1" in browser.get(f"{path}?path=net/conv.py").text
    assert "PNG" not in browser.get(f"{path}?path=net/logo.png").text.split("<pre")[-1]
    for unknown in ("?path=nothing.py", "?path=../..", "?version=9"):
        assert browser.get(path + unknown).status_code == 404


def test_markup_in_code_is_text(lab: Lab) -> None:
    a_code_version(lab.cluster, lab.own_code, [("train.py", b"<script>alert(1)</script>")])
    html = lab.browser(lab.minjun).get(f"/trainings/{lab.own_code.id}/code?path=train.py").text
    assert "&lt;script&gt;alert(1)" in html and "<script>alert" not in html


def test_a_folder_replaces_its_files_and_keeps_the_others(lab: Lab, path: str) -> None:
    folder = [("mine/net/conv.py", b"x = 2\n"), ("mine/.git/HEAD", b"ref"), ("mine/new.py", b"1")]
    assert upload(lab, path, folder=folder) == 303
    assert paths_of(lab, 2) == ["net/conv.py", "net/logo.png", "new.py", "train.py"]
    assert "x = 2" in lab.browser(lab.minjun).get(f"{path}?path=net/conv.py").text
    assert "x = 1" in lab.browser(lab.minjun).get(f"{path}?version=1&path=net/conv.py").text


def test_an_archive_is_left_to_a_task(lab: Lab, path: str) -> None:
    assert upload(lab, path, code=[("net.zip", b"PK")]) == 303
    with lab.cluster.store.read() as session:
        version = session.get_one(CodeVersion, (lab.own_code.id, 2))
        assert (version.origin, version.operation_id is not None) == ("net.zip", True)
    assert "Preparing" in lab.browser(lab.minjun).get(path).text
    assert upload(lab, path, code=[("a.py", b"1")]) == 422


def test_chosen_files_are_left_out_of_the_next_version(lab: Lab, path: str) -> None:
    browser = lab.browser(lab.seoyeon)
    assert 'name="removed" value="net"' in browser.get(path).text
    assert 'name="removed"' not in lab.browser(lab.minjun).get(path).text
    assert browser.post(f"{path}/remove", data={"base": "1"}).status_code == 422
    assert (
        browser.post(f"{path}/remove", data={"base": "1", "removed": ["train.py", "net"]}).status_code == 422
    )
    assert browser.post(f"{path}/remove", data={"base": "1", "removed": ["net"]}).status_code == 303
    assert paths_of(lab, 2) == ["train.py"]
    late = browser.post(f"{path}/remove", data={"base": "1", "removed": ["net"]})
    assert late.status_code == 422 and "version 2" in late.text
    assert lab.browser(lab.minjun).post(f"{path}/remove", data={"removed": ["net"]}).status_code == 403


def test_files_and_versions_are_downloaded(lab: Lab, path: str) -> None:
    browser = lab.browser(lab.minjun)
    file = browser.get(f"{path}/1/download?path=net/conv.py")
    assert (file.data, file.mimetype) == (b"x = 1\n", "application/octet-stream")
    assert "attachment" in file.headers["Content-Disposition"]
    answer = browser.get(f"{path}/1/archive")
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        assert sorted(archive.namelist()) == ["net/conv.py", "net/logo.png", "train.py"]
        assert archive.read("train.py") == TREE[0][1]
    with zipfile.ZipFile(io.BytesIO(browser.get(f"{path}/1/archive?path=net").data)) as archive:
        assert sorted(archive.namelist()) == ["conv.py", "logo.png"]
    for unknown in ("/1/download?path=net", "/1/download", "/2/archive", "/1/archive?path=train.py"):
        assert browser.get(path + unknown).status_code == 404, unknown
    assert lab.browser(lab.stranger).get(f"{path}/1/archive").status_code == 404


def test_two_versions_are_compared(lab: Lab, path: str) -> None:
    changed = [("train.py", b"one = 1\nprint(2)\n"), ("net/logo.png", b"\x89PNG\0\0")]
    assert upload(lab, path, code=[changed[0]], folder=[("net/net/logo.png", changed[1][1])]) == 303
    html = lab.browser(lab.minjun).get(f"{path}/compare").text
    assert '<span class="minus">-print(one)' in html and '<span class="plus">+print(2)' in html
    assert "2 files differ." in html and "conv.py" not in html.split("<main")[1]
    same = lab.browser(lab.minjun).get(f"{path}/compare?before=2&after=2").text
    assert "Both versions have the same files" in same
    assert lab.browser(lab.minjun).get(f"{path}/compare?before=1&after=9").status_code == 404


def test_a_built_in_model_has_no_code_page(lab: Lab) -> None:
    assert lab.browser(lab.seoyeon).get(f"/trainings/{lab.lenet.id}/code").status_code == 404


def test_the_list_of_versions_follows_what_happens_to_them(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    path = f"/trainings/{lab.own_code.id}/code"
    follows = re.search(r'id="code-versions" hx-get="([^"]+)"', browser.get(path).text)
    assert follows
    trainings.upload_code(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, TREE)
    part = browser.get(html.unescape(follows[1]), headers={"HX-Request": "true"}).text
    assert "Version 2" in part and "Versions" in part and "<html" not in part
