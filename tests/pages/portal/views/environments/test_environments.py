"""Environments on pages: added by paste or file, refused by line, chosen for jobs, deleted when nobody uses them."""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cluster.domain.images import DefaultImage, LibraryVersion
from cluster.services.images import environment_list
from cluster.services.images.default_images import list_default_images, record_images
from cluster.services.jobs import queries
from cluster.services.people import api_tokens
from cluster.store.environments import Environment
from portal.views.environments import environments as environments_page
from tests.builders import a_job, a_workspace, actor_of, an_environment
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import problem_of

TORCH = "torch==2.7.1\n"


def fields(lab: Lab, **changes: object) -> dict[str, object]:
    usual = {
        "name": "torch-2.7",
        "requirements": TORCH,
        "scope": "workspaces",
        "workspaces": [str(lab.workspace.id)],
    }
    return usual | changes


def named(lab: Lab, name: str) -> Environment:
    rows = environment_list.list_environments(lab.cluster, actor_of(lab.administrator))
    found = next(row for row in rows if row.name == name)
    return environment_list.read_environment(lab.cluster, actor_of(lab.administrator), found.id)


def test_a_manager_pastes_a_file_and_follows_the_build(lab: Lab) -> None:
    manager = lab.browser(lab.manager)
    assert "New environment" in manager.get("/environments").text
    assert "New environment" not in lab.browser(lab.minjun).get("/environments").text
    form = manager.get("/environments/new").text
    assert 'value="global"' not in form and "vision" in form
    answer = manager.post("/environments/new", data=fields(lab))
    made = named(lab, "torch-2.7")
    assert (answer.status_code, answer.location) == (303, f"/environments/{made.id}")
    page = manager.get(answer.location).text
    assert "Cancel the build" in page and "torch==2.7.1" in page
    assert manager.post(f"{answer.location}/cancel").status_code == 303
    assert "jisoo has cancelled the build" in manager.get(answer.location).text
    assert lab.browser(lab.stranger).get(answer.location).status_code == 404


def test_a_member_learns_no_name_of_another_workspace(lab: Lab) -> None:
    elsewhere = a_workspace(lab.cluster, lab.stranger, units=1, name="quiet-project")
    made = an_environment(lab.cluster, "torch-2.7", [lab.workspace, elsewhere])
    token = api_tokens.create_api_token(lab.cluster, actor_of(lab.minjun), "laptop", ["read"])[1]
    for person, names in ((lab.minjun, {"vision"}), (lab.administrator, {"vision", "quiet-project"})):
        browser = lab.browser(person)
        for path in ("/environments", f"/environments/{made.id}"):
            page = browser.get(path).text
            assert {name for name in ("vision", "quiet-project") if name in page} == names, path
    bearer = {"Authorization": f"Bearer {token}"}
    told = lab.app.test_client().get(f"/api/v1/environments/{made.id}", headers=bearer).json
    (listed,) = lab.app.test_client().get("/api/v1/environments?name=torch-2.7", headers=bearer).json["items"]
    assert (
        [place["name"] for place in told["workspaces"]]
        == ["vision"]
        == [place["name"] for place in listed["workspaces"]]
    )


def test_an_uploaded_file_counts_before_what_was_pasted(lab: Lab) -> None:
    browser = lab.browser(lab.administrator)
    sent = fields(lab, scope="global", file=(io.BytesIO(b"\xef\xbb\xbfnumpy==2.1.3\r\n"), "requirements.txt"))
    assert browser.post("/environments/new", data=sent).status_code == 303
    made = named(lab, "torch-2.7")
    assert (made.requirements, made.is_global) == ("numpy==2.1.3\r\n", True)
    for content in (b"\x89PNG\xff", b"a" * 300_000):
        sent = fields(lab, name="other", file=(io.BytesIO(content), "x.png"))
        answer = browser.post("/environments/new", data=sent)
        assert answer.status_code == 422 and "The file is no text" in problem_of(answer.text, "requirements")


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"requirements": "numpy\n-e .\n"}, "requirements", "Line 2 installs a folder for editing (-e .)"),
        ({"requirements": ""}, "requirements", "Write at least one package"),
        ({"name": "default"}, "name", "default"),
        ({"python": "3.5"}, "python", "Python 3.5 is too old"),
        ({"scope": "workspaces", "workspaces": []}, "workspaces", "Choose the workspaces"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(
    lab: Lab, changes: dict[str, object], field: str, said: str
) -> None:
    answer = lab.browser(lab.manager).post("/environments/new", data=fields(lab, **changes))
    assert answer.status_code == 422 and said in problem_of(answer.text, field)
    if "requirements" not in changes:
        assert "torch==2.7.1" in answer.text
    korean = lab.browser(lab.manager, "ko").post("/environments/new", data=fields(lab, **changes))
    assert problem_of(korean.text, field) not in ("", said)


def test_a_training_and_a_job_choose_one_by_what_is_in_it(lab: Lab) -> None:
    contents = [["python", "3.11.2", "purpose.language"], ["torch", "2.7.1", "purpose.framework"]]
    made = an_environment(lab.cluster, "torch-2.7", [lab.workspace], contents)
    owner = lab.browser(lab.seoyeon)
    edit = f"/trainings/{lab.own_code.id}/edit"
    assert "torch-2.7 · Python 3.11, torch 2.7.1" in owner.get(edit).text
    saved = {"name": "own-code", "description": "", "visibility": "public", "members": ""}
    saved |= {"objective_metric": "", "objective_order": "higher", "environment": str(made.id)}
    assert owner.post(edit, data=saved).status_code == 303
    form = owner.get(f"/trainings/{lab.own_code.id}/jobs/new").text
    assert f'<option value="{made.id}" selected>' in form and "torchrun" in form
    page = owner.get(f"/environments/{made.id}").text
    assert "own-code" in page and "Delete</a>" not in page
    data = {"name": "one", "units": "1", "environment": str(made.id), "other_command": "python"}
    data |= {"launcher": "horovod", "arguments": "-V", "priority": "0", "grace": "30s", "retries": "0"}
    estimate = owner.post(f"/trainings/{lab.own_code.id}/jobs/check", data=data).text
    assert "torch-2.7 has no Horovod" in estimate
    wrong = owner.post(f"/trainings/{lab.own_code.id}/jobs/new", data=data | {"environment": "987654"})
    assert "no environment 987654" in problem_of(wrong.text, "environment")


def test_a_deleted_one_stays_in_the_form_until_another_is_chosen(lab: Lab) -> None:
    gone = an_environment(lab.cluster, "gone", deleted_at=lab.cluster.clock())
    job = a_job(lab.cluster, lab.lenet, lab.seoyeon, environment_id=gone.id)
    form = lab.browser(lab.seoyeon).get(f"/trainings/{lab.lenet.id}/jobs/new?before={job.id}").text
    assert "gone (cannot be chosen any more)</option>" in form
    assert queries.read_job(lab.cluster, actor_of(lab.seoyeon), job.id).environment_id == gone.id


def test_one_in_use_is_kept_and_another_is_deleted(lab: Lab) -> None:
    used = an_environment(lab.cluster, "used", [lab.workspace])
    a_job(lab.cluster, lab.lenet, lab.seoyeon, environment_id=used.id)
    manager = lab.browser(lab.manager)
    assert "It is in use" in manager.get(f"/environments/{used.id}/delete").text
    answer = manager.post(f"/environments/{used.id}/delete")
    assert answer.status_code == 409 and "used is in use by" in answer.text
    unused = an_environment(lab.cluster, "unused", [lab.workspace], size_bytes=5 * 1024**2)
    assert "5.0 MiB" in manager.get(f"/environments/{unused.id}/delete").text
    assert manager.post(f"/environments/{unused.id}/delete").location == "/environments"
    assert "unused" not in manager.get("/environments").text
    member = lab.browser(lab.minjun)
    assert "Only administrators" in member.get(f"/environments/{used.id}/delete").text


def test_scope_is_changed_on_its_page(lab: Lab) -> None:
    made = an_environment(lab.cluster, "torch-2.7", [lab.workspace])
    browser, path = lab.browser(lab.administrator), f"/environments/{made.id}"
    wrong = browser.post(f"{path}/scope", data={"scope": "workspaces", "description": "x"})
    assert wrong.status_code == 422 and "Choose the workspaces" in wrong.text
    assert browser.post(f"{path}/scope", data={"scope": "global", "description": "all"}).status_code == 303
    assert named(lab, "torch-2.7").is_global
    assert "every workspace" in browser.get("/environments").text


def test_an_old_python_is_shown_with_the_reason(lab: Lab) -> None:
    old = an_environment(lab.cluster, "old", python="3.5.2")
    assert "Python too old for jobs" in lab.browser(lab.minjun).get("/environments").text
    assert "needs Python 3.6 or newer" in lab.browser(lab.minjun).get(f"/environments/{old.id}").text


def test_the_search_finds_those_that_one_may_choose(lab: Lab) -> None:
    an_environment(lab.cluster, "torch-2.7", [lab.workspace])
    assert "torch-2.7" in lab.browser(lab.minjun).get("/search?q=torch").text
    assert "torch-2.7" not in lab.browser(lab.stranger).get("/search?q=torch").text


CPU = DefaultImage(
    name="groundcrew-default",
    variant="cpu",
    tag="cpu-0123456789ab",
    digest="sha256:" + "5" * 64,
    size=612_000_000,
    system="debian-12",
    made_at=datetime(2026, 11, 20, 9, tzinfo=UTC),
    contents=(
        LibraryVersion("horovod", "0.28.1", "purpose.several_ranks"),
        LibraryVersion("openmpi-bin", "4.1.4", "purpose.launch_ranks"),
    ),
)
REGISTRY = "gpu-master:5443"


def page_of(lab: Lab, name: str, language: str = "en") -> str:
    browser = lab.browser(lab.minjun, language)
    (path,) = re.findall(
        rf'href="(/environments/[0-9]+)"><span class="name">{name}<', browser.get("/environments").text
    )
    return browser.get(path).text


def test_an_image_shows_what_was_read_from_it(lab: Lab) -> None:
    assert record_images(lab.cluster, [CPU], REGISTRY)
    page = page_of(lab, "groundcrew-default-cpu")
    for said in ("horovod", "0.28.1", "Training on several ranks", "debian-12", "584 MiB", "Protected"):
        assert said in page
    assert f"{REGISTRY}/groundcrew-default@{CPU.digest}" in page
    korean = page_of(lab, "groundcrew-default-cpu", "ko")
    assert "여러 장비에서 랭크 시작" in korean and "보호됨" in korean
    assert lab.browser(lab.minjun).get("/images").headers["Location"] == "/environments"


def test_an_image_for_gpus_says_how_its_libraries_serve_them(lab: Lab) -> None:
    code = {"7.5": {"torch": "own", "tensorflow": "own"}, "9.0": {"torch": "own", "tensorflow": "by_ptx"}}
    cuda = replace(CPU, variant="cuda", tag="cuda-1", digest="sha256:6", gpu_code=code)
    record_images(lab.cluster, [CPU, cuda], REGISTRY)
    page = " ".join(page_of(lab, "groundcrew-default-cuda").split())
    row = page[page.index(">9.0</td>") :]
    assert row.index(">Machine code</td>") < row.index(">Compiled by the driver (PTX)</td>")
    assert "For which GPUs" not in page_of(lab, "groundcrew-default-cpu")
    assert "드라이버가 컴파일(PTX)" in page_of(lab, "groundcrew-default-cuda", "ko")


def test_what_was_recorded_last_counts_and_the_same_is_no_news(lab: Lab) -> None:
    assert record_images(lab.cluster, [CPU], "")
    assert not record_images(lab.cluster, [CPU], "")
    assert record_images(lab.cluster, [CPU], REGISTRY)
    (found,) = list_default_images(lab.cluster, actor_of(lab.minjun))
    assert (found.digest, found.registry, found.contents) == (CPU.digest, REGISTRY, CPU.contents)


def test_a_variant_that_a_site_has_given_up_is_shown_no_longer(lab: Lab) -> None:
    cuda = replace(CPU, variant="cuda", tag="cuda-0123456789ab")
    record_images(lab.cluster, [CPU, cuda], REGISTRY)
    assert len(list_default_images(lab.cluster, actor_of(lab.minjun))) == 2
    assert record_images(lab.cluster, [CPU], REGISTRY)
    assert "Computes with CUDA" not in lab.browser(lab.minjun).get("/environments").text


def test_the_training_environment_is_shown_as_what_it_is(lab: Lab) -> None:
    with lab.cluster.store.write() as session:
        (environment,) = session.query(Environment)
        environment.contents = [["numpy", "2.0.2", "purpose.arrays"]]
    page = page_of(lab, "default")
    assert "numpy" in page and "Arrays of numbers" in page and "Protected" in page
    assert "registry" not in page and "Build again" not in page


@pytest.mark.parametrize("who", ["administrator", "minjun"])
def test_nothing_is_restored_where_there_is_no_such_repair(lab: Lab, who: str) -> None:
    record_images(lab.cluster, [CPU], REGISTRY)
    page = lab.browser(getattr(lab, who)).get("/environments").text
    assert "/repairs/restore-default-images" not in page


def test_where_there_is_the_repair_only_administrators_are_offered_it_and_only_for_an_image(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = environments_page.RESTORE
    monkeypatch.setattr(
        "cluster.services.repairs.catalogue.list_offered_repairs", lambda _: {catalogue: None}
    )
    offers = [
        who
        for who in (lab.administrator, lab.minjun)
        if catalogue in lab.browser(who).get("/environments").text
    ]
    assert offers == []
    record_images(lab.cluster, [CPU], REGISTRY)
    offers = [
        who
        for who in (lab.administrator, lab.minjun)
        if catalogue in lab.browser(who).get("/environments").text
    ]
    assert offers == [lab.administrator]
