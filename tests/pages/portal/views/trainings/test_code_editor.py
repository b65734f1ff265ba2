"""The editor: one file as a form without JavaScript, and nothing lost when somebody else was faster."""

import pytest

from cluster.services import code_versions, trainings
from tests.builders import a_code_version, actor_of
from tests.pages.portal.pages_lab import Lab

TREE = [("train.py", b"\none = '<b>'\n"), ("logo.png", b"\x89PNG\0")]


@pytest.fixture
def path(lab: Lab) -> str:
    a_code_version(lab.cluster, lab.own_code, TREE)
    return f"/trainings/{lab.own_code.id}/code"


def content(lab: Lab, number: int) -> bytes:
    found = trainings.read_training(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id)
    return code_versions.read_code_content(lab.cluster.settings, found, number, "train.py")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_file_is_edited_into_a_version(lab: Lab, path: str, language: str) -> None:
    browser = lab.browser(lab.seoyeon, language)
    assert "/code/edit?version=1&amp;path=train.py" in browser.get(f"{path}?path=train.py").text
    html = browser.get(f"{path}/edit?version=1&path=train.py").text
    assert ">\n\none = &#39;&lt;b&gt;&#39;\n</textarea>" in html and 'name="base" value="1"' in html
    form = {"path": "train.py", "base": "1", "text": "\r\none = 2\r\n"}
    answer = browser.post(f"{path}/edit", data=form)
    assert answer.status_code == 303 and answer.location.endswith("/code?path=train.py")
    assert content(lab, 2) == b"\none = 2\n"
    same = browser.post(f"{path}/edit", data=form | {"base": "2"})
    assert same.status_code == 422 and "one = 2" in same.text


def test_somebody_else_s_change_keeps_both_texts(lab: Lab, path: str) -> None:
    browser = lab.browser(lab.seoyeon)
    trainings.upload_code(lab.cluster, actor_of(lab.seoyeon), lab.own_code.id, [("train.py", b"theirs\n")])
    form = {"path": "train.py", "base": "1", "text": "mine\r\n"}
    late = browser.post(f"{path}/edit", data=form)
    assert late.status_code == 409
    assert "mine" in late.text and 'name="base" value="2"' in late.text
    assert "Version 2 has changed this file" in late.text and "before=1&amp;after=2" in late.text
    assert content(lab, 2) == b"theirs\n"
    assert browser.post(f"{path}/edit", data=form | {"base": "2"}).status_code == 303
    assert content(lab, 3) == b"mine\n"


def test_who_may_not_upload_does_not_edit(lab: Lab, path: str) -> None:
    member = lab.browser(lab.minjun)
    assert "/code/edit" not in member.get(f"{path}?path=train.py").text
    assert member.get(f"{path}/edit?path=train.py").status_code == 403
    assert member.post(f"{path}/edit", data={"path": "train.py", "base": "1", "text": "x"}).status_code == 403
    assert lab.browser(lab.stranger).get(f"{path}/edit?path=train.py").status_code == 404
    browser = lab.browser(lab.seoyeon)
    assert browser.get(f"{path}/edit?path=nothing.py").status_code == 404
    assert browser.get(f"{path}/edit?path=logo.png").status_code == 422
