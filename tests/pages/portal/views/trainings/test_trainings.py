"""Trainings: built-in and own code, who sees a private one, new versions of code."""

import html
import io
import re

import pytest
from sqlalchemy import select

from cluster.domain import code_files
from cluster.domain.states import CodeState
from cluster.services import trainings
from cluster.store.trainings import CodeVersion, Training
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import problem_of

BUILT_IN = {"kind": "built_in", "name": "new-one", "description": "", "model": "mlp", "visibility": "public", "members": ""}  # fmt: skip  # noqa: E501


def own(*names: str, **fields: str) -> dict[str, object]:
    files = [(io.BytesIO(b"print(1)\n"), name) for name in names]
    return {"kind": "advanced", "name": "new-one", "visibility": "public", "code": files} | fields


def newest(lab: Lab) -> Training:
    return trainings.list_trainings(lab.cluster, actor_of(lab.administrator))[0]


def test_a_built_in_training_is_made(lab: Lab) -> None:
    browser = lab.browser(lab.minjun)
    answer = browser.post(f"/workspaces/{lab.workspace.id}/trainings/new", data=BUILT_IN)
    assert answer.status_code == 303
    assert (newest(lab).name, newest(lab).model, newest(lab).owner.name) == ("new-one", "mlp", "minjun")
    assert "MLP" in browser.get(answer.location).text


def test_own_code_is_kept_in_versions(lab: Lab) -> None:
    browser = lab.browser(lab.minjun)
    answer = browser.post(f"/workspaces/{lab.workspace.id}/trainings/new", data=own("train.py", "model.py"))
    assert answer.status_code == 303
    page = browser.get(answer.location).text
    assert "train.py" in page and "model.py" in page and "version 1" in page
    training = newest(lab)
    sent = {"code": [(io.BytesIO(b"print(2)\n"), "train.py")]}
    answer = browser.post(f"/trainings/{training.id}/code", data=sent)
    assert answer.status_code == 303
    assert "Version 2 is what new jobs run." in browser.get(answer.location).text
    assert newest(lab).code_version == 2


@pytest.mark.parametrize(
    ("data", "goes_to"),
    [(BUILT_IN, "/jobs/new"), (own("train.py"), "/jobs/new"), (own("code.zip"), "")],
    ids=["built-in", "own code", "an archive that is unpacked first"],
)
def test_the_second_button_leads_to_the_form_of_the_first_job(
    lab: Lab, data: dict[str, object], goes_to: str
) -> None:
    path = f"/workspaces/{lab.workspace.id}/trainings/new"
    answer = lab.browser(lab.minjun).post(path, data=data | {"then": "job"})
    assert answer.status_code == 303
    assert answer.location == f"/trainings/{newest(lab).id}{goes_to}"


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_page_says_that_its_archive_is_unpacked_and_what_was_wrong_with_it(
    lab: Lab, language: str
) -> None:
    browser = lab.browser(lab.minjun, language)
    path = f"/workspaces/{lab.workspace.id}/trainings/new"
    page = browser.post(path, data=own("code.zip"), follow_redirects=True).text
    assert ("Version 1 is being unpacked." if language == "en" else "버전 1의 압축을 푸는 중입니다.") in page
    with lab.cluster.store.write() as session:
        version = session.scalars(select(CodeVersion).where(CodeVersion.training_id == newest(lab).id)).one()
        version.state, version.error_code, version.error_data = CodeState.FAILED, "archive.empty", {}
    page = browser.get(f"/trainings/{newest(lab).id}").text
    assert ("There is no file in the archive." if language == "en" else "압축 파일 안에") in page
    follows = re.search(r'id="training-code"[^>]*hx-get="([^"]+)"', page)
    assert follows
    part = browser.get(html.unescape(follows[1]), headers={"HX-Request": "true"}).text
    assert ("There is no file in the archive." if language == "en" else "압축 파일 안에") in part
    assert "<html" not in part


def test_the_page_of_own_code_takes_a_new_version(lab: Lab) -> None:
    path = f"/trainings/{lab.own_code.id}"
    assert f'action="{path}/code"' in lab.browser(lab.seoyeon).get(path).text
    assert f'action="{path}/code"' not in lab.browser(lab.minjun).get(path).text


def test_only_the_owner_and_managers_upload_code(lab: Lab) -> None:
    def send(user: object) -> int:
        sent = {"code": [(io.BytesIO(b"print(2)\n"), "train.py")]}
        return lab.browser(user).post(f"/trainings/{lab.own_code.id}/code", data=sent).status_code  # type: ignore[arg-type]

    assert send(lab.stranger) == 404
    assert send(lab.minjun) == 403
    assert "Upload version" not in lab.browser(lab.minjun).get(f"/trainings/{lab.own_code.id}/code").text
    assert send(lab.manager) == 303
    assert send(lab.seoyeon) == 303


BAD = [
    (BUILT_IN | {"name": ""}, "name"),
    (BUILT_IN | {"name": "Two Words"}, "name"),
    (BUILT_IN | {"name": "x" * 21}, "name"),
    (BUILT_IN | {"name": "digits-lenet"}, "name"),
    (BUILT_IN | {"description": "x" * 501}, "description"),
    (BUILT_IN | {"model": "resnet"}, "model"),
    (BUILT_IN | {"model": ""}, "model"),
    (BUILT_IN | {"visibility": "secret"}, "visibility"),
    (BUILT_IN | {"visibility": "private", "members": "nobody-here"}, "members"),
    (own(), "code"),
    (own("two words.py"), "code"),
    (own("한글.py"), "code"),
    (own("a.py", "a.py"), "code"),
    (own("notes.txt"), "code"),
    (own("net.zip", "a.py"), "code"),
]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_bad_input_is_said_beside_its_field(lab: Lab, language: str) -> None:
    browser, path = lab.browser(lab.minjun, language), f"/workspaces/{lab.workspace.id}/trainings/new"
    for data, field in BAD:
        files = [(io.BytesIO(b"x"), name) for _, name in data.get("code", [])]  # type: ignore[attr-defined]
        answer = browser.post(path, data=data | ({"code": files} if "code" in data else {}))
        assert answer.status_code == 422, (field, data)
        assert problem_of(answer.text, field), (field, data)
    assert newest(lab).name == "private-idea"


def test_too_much_code_is_refused_with_the_limit(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_files, "LARGEST_CODE_BYTES", 1000)
    sent = {"code": [(io.BytesIO(b"x" * 1001), "train.py")]}
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.own_code.id}/code", data=sent)
    assert answer.status_code == 422
    assert problem_of(answer.text, "code")


@pytest.mark.parametrize("kind", ["", "docker"])
def test_an_unknown_kind_is_refused(lab: Lab, kind: str) -> None:
    answer = lab.browser(lab.minjun).post(
        f"/workspaces/{lab.workspace.id}/trainings/new", data=BUILT_IN | {"kind": kind}
    )
    assert answer.status_code == 422


def test_a_private_training_is_seen_by_who_is_named(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    data = BUILT_IN | {"visibility": "private", "members": "minjun"}
    path = browser.post(f"/workspaces/{lab.workspace.id}/trainings/new", data=data).location
    for user, status in (
        (lab.minjun, 200),
        (lab.manager, 200),
        (lab.administrator, 200),
        (lab.stranger, 404),
    ):
        assert lab.browser(user).get(path).status_code == status
    assert lab.browser(lab.minjun).get(f"/trainings/{lab.private.id}").status_code == 404
    html = browser.get(path).text
    assert "named people only" in html and "minjun" in html


def test_a_strangers_workspace_takes_no_training(lab: Lab) -> None:
    path = f"/workspaces/{lab.workspace.id}/trainings/new"
    assert lab.browser(lab.stranger).post(path, data=BUILT_IN).status_code == 404
    assert lab.browser(lab.stranger).get(path).status_code == 404


def test_all_faults_of_a_new_training_are_told_at_once(lab: Lab) -> None:
    wrong = {"kind": "advanced", "name": "My Code", "description": "x" * 600, "visibility": "public"}
    answer = lab.browser(lab.seoyeon).post(f"/workspaces/{lab.workspace.id}/trainings/new", data=wrong)
    assert answer.status_code == 422
    for field in ("name", "description", "code"):
        assert f'id="{field}-problem"' in answer.text, field
