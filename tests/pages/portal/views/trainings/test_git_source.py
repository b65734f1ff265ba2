"""The page that says where code comes from: form, progress, failures, and no secret anywhere."""

import pytest

from cluster.domain.states import OperationState
from cluster.services.git import git_sources
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, GitSource
from tests.builders import a_code_version
from tests.pages.portal.pages_lab import Lab

URL = "https://git.lab.example/vision/net.git"
TOKEN = "glpat-4567890123456789"
FORM = {"url": URL, "reference": "main", "folder": "", "credential": "token", "user_name": "", "token": TOKEN}


@pytest.fixture
def path(lab: Lab) -> str:
    return f"/trainings/{lab.own_code.id}/code/git"


def source(lab: Lab) -> GitSource:
    found = git_sources.read_source(lab.cluster, lab.own_code)
    assert found is not None
    return found


def end(lab: Lab, state: OperationState, code: str | None = None, **data: str) -> None:
    with lab.cluster.store.write() as session:
        operation = session.get_one(Operation, source(lab).operation_id)
        operation.state, operation.error_code, operation.error_data = state, code, data


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_source_is_set_and_its_secret_is_shown_nowhere(lab: Lab, path: str, language: str) -> None:
    browser = lab.browser(lab.seoyeon, language)
    assert "code/git" in browser.get(path.removesuffix("/git")).text
    assert browser.post(path, data=FORM).status_code == 303
    html = browser.get(path).text
    assert URL in html and TOKEN not in html and TOKEN not in str(vars(source(lab)))
    assert browser.post(f"{path}/fetch").status_code == 303
    assert source(lab).operation_id is not None
    assert TOKEN not in browser.get(path).text
    again = browser.post(f"{path}/fetch")
    assert again.status_code == 422


def test_a_refused_form_keeps_what_was_typed_but_no_secret(lab: Lab, path: str) -> None:
    answer = lab.browser(lab.seoyeon).post(path, data=FORM | {"url": "file:///etc/passwd"})
    assert answer.status_code == 422
    assert "file:///etc/passwd" in answer.text and "Code is fetched by" in answer.text
    assert TOKEN not in answer.text
    odd = lab.browser(lab.seoyeon).post(path, data=FORM | {"credential": "everything"})
    assert odd.status_code == 422


@pytest.mark.parametrize(
    ("code", "data", "english", "korean"),
    [
        ("git.host_not_allowed", {"host": "h:443"}, "GROUNDCREW_GIT_HOSTS", "GROUNDCREW_GIT_HOSTS"),
        ("git.not_authorised", {}, "with read access", "읽기 권한"),
        ("git.reference_missing", {"reference": "dev"}, "“dev”", "“dev”"),
        ("git.too_large", {}, "dataset", "데이터셋"),
    ],
)
def test_a_failure_names_cause_and_way_out(
    lab: Lab, path: str, code: str, data: dict[str, str], english: str, korean: str
) -> None:
    lab.browser(lab.seoyeon).post(path, data=FORM | {"then": "fetch"})
    end(lab, OperationState.FAILED, code, **data)
    for address in (path, path.removesuffix("/git")):
        assert english in lab.browser(lab.seoyeon).get(address).text
        assert korean in lab.browser(lab.seoyeon, "ko").get(address).text


def test_the_commit_stands_beside_its_version(lab: Lab, path: str) -> None:
    lab.browser(lab.seoyeon).post(path, data=FORM | {"then": "fetch"})
    end(lab, OperationState.FINISHED)
    a_code_version(lab.cluster, lab.own_code, [("train.py", b"1")])
    with lab.cluster.store.write() as session:
        version = session.get_one(CodeVersion, (lab.own_code.id, 1))
        version.commit_id, version.commit_author, version.commit_subject = (
            "c0ffee" * 6 + "c0ff",
            "Min",
            "<i>Fix",
        )
        session.get_one(GitSource, lab.own_code.id).found_version = 1
    for address in (path, path.removesuffix("/git")):
        html = lab.browser(lab.minjun).get(address).text
        assert "c0ffeec0ff" in html and "&lt;i&gt;Fix" in html and "<i>Fix" not in html


def test_a_deploy_key_shows_its_public_half_alone(lab: Lab, path: str) -> None:
    form = FORM | {"url": "git@git.lab.example:net.git", "credential": "deploy_key", "token": ""}
    assert lab.browser(lab.seoyeon).post(path, data=form).status_code == 303
    html = lab.browser(lab.seoyeon).get(path).text
    assert "ssh-ed25519 AAAA" in html and "PRIVATE KEY" not in html


def test_who_may_not_upload_sees_and_changes_nothing_more(lab: Lab, path: str) -> None:
    lab.browser(lab.seoyeon).post(path, data=FORM)
    member = lab.browser(lab.minjun)
    assert URL in member.get(path).text and "<textarea" not in member.get(path).text
    for address in (path, f"{path}/fetch", f"{path}/remove"):
        assert member.post(address, data=FORM if address == path else {}).status_code == 403
    assert lab.browser(lab.stranger).get(path).status_code == 404
    assert lab.browser(lab.seoyeon).post(f"{path}/remove").status_code == 303
    assert git_sources.read_source(lab.cluster, lab.own_code) is None
