"""The pages of repairs: what is said before the click, what a refusal keeps, what a run shows."""

import re
from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.services.repairs import previews, repair_runs
from portal.shared_objects import share_object
from tests.builders import a_node, a_repair_run, actor_of
from tests.pages.portal.pages_lab import Lab
from tests.unit.cluster.services.repairs.test_catalogue import with_a_broken_file

REASON = {"reason": "{{ lookup('pipe', 'touch /tmp/pwn') }}"}


def etag(lab: Lab, name: str) -> str:
    return previews.preview_repair(lab.cluster, actor_of(lab.administrator), name).etag


def test_the_catalogue_is_grouped_and_names_what_it_leaves_out(lab: Lab) -> None:
    page = lab.browser(lab.administrator).get("/repairs").text
    assert page.index("Back up now") < page.index("Restart task workers") < page.index("Free disk space")
    assert "Left out on this machine" in page and "never run" in page
    assert "Last backup proven by a restore" in page


def test_a_file_that_cannot_be_read_is_named_and_ends_no_page(lab: Lab, tmp_path: Path) -> None:
    share_object(lab.app, Cluster, with_a_broken_file(lab.cluster, tmp_path))
    browser = lab.browser(lab.administrator, "ko")
    page = browser.get("/repairs")
    assert page.status_code == 200 and "own-idea.yml" in page.text and "/repairs/back-up-now" in page.text
    assert browser.get(f"/nodes/{lab.node.id}").status_code == 200
    own = browser.get("/repairs/own-idea")
    assert own.status_code == 503 and "파일을 고치거나 지우세요" in own.text


@pytest.mark.parametrize(
    ("language", "task"), [("en", "Write the database out"), ("ko", "데이터베이스를 SQL로")]
)
def test_the_forecast_lists_the_playbooks_own_tasks(lab: Lab, language: str, task: str) -> None:
    lab.a_running_job()
    page = lab.browser(lab.administrator, language).get("/repairs/back-up-now").text
    assert task in page and "ansible/playbooks/repair/back-up-now.yml" in page
    assert ("1 runs here and goes on" if language == "en" else "1건은 계속") in page


def test_a_click_runs_what_the_forecast_showed(lab: Lab) -> None:
    answer = lab.browser(lab.administrator).post(
        "/repairs/back-up-now", data=REASON | {"etag": etag(lab, "back-up-now")}
    )
    assert answer.status_code == 303
    page = lab.browser(lab.administrator).get(answer.location).text
    assert "{{ lookup(" in page.replace("&#39;", "'") and "Running" in page and "being prepared" in page


def test_a_stale_forecast_is_shown_anew_and_keeps_the_reason(lab: Lab) -> None:
    answer = lab.browser(lab.administrator).post("/repairs/back-up-now", data=REASON | {"etag": "old"})
    assert answer.status_code == 409
    assert "Something changed since this preview" in answer.text and "lookup(" in answer.text


def test_a_dangerous_repair_says_which_name_it_wants(lab: Lab) -> None:
    data = {"etag": etag(lab, "free-disk-space"), "reason": "full", "typed": "cpu02"}
    answer = lab.browser(lab.administrator).post("/repairs/free-disk-space", data=data)
    assert answer.status_code == 422
    assert "cpu02 is not the name of this preview. Type cpu01." in answer.text


def test_whoever_comes_second_is_shown_the_first_one(lab: Lab) -> None:
    run = a_repair_run(lab.cluster, lab.administrator, host="cpu01")
    page = lab.browser(lab.administrator).get("/repairs/verify-backup").text
    assert f"Repair {run.id} runs on cpu01: hjkim asked for it" in page
    assert 'name="reason"' not in page


def test_an_operation_of_a_repair_leads_to_its_run(lab: Lab) -> None:
    administrator = lab.browser(lab.administrator)
    answer = administrator.post("/repairs/back-up-now", data=REASON | {"etag": etag(lab, "back-up-now")})
    run = repair_runs.list_repair_runs(lab.cluster, actor_of(lab.administrator))[0]
    assert administrator.get(f"/operations/{run.operation_id}").location == answer.location


def test_cancelling_is_asked_once_and_forced_the_second_time(lab: Lab) -> None:
    run = a_repair_run(lab.cluster, lab.administrator)
    administrator = lab.browser(lab.administrator)
    assert administrator.post(f"/repairs/runs/{run.id}/cancel").status_code == 303
    assert "End it by force" in administrator.get(f"/repairs/runs/{run.id}").text


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "No new backup has been proven by a restore"), ("ko", "복원해 확인한 새 백업이 없습니다")],
)
def test_a_missing_backup_is_said_on_the_first_page_to_administrators(
    lab: Lab, language: str, said: str
) -> None:
    assert said not in lab.browser(lab.administrator, language).get("/").text
    settings = replace(lab.cluster.settings, backup_at=time(3, 0))
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    assert said not in lab.browser(lab.administrator, language).get("/").text
    lab.cluster.clock.move(hours=27)  # type: ignore[attr-defined]
    assert said in lab.browser(lab.administrator, language).get("/").text
    assert said not in lab.browser(lab.seoyeon, language).get("/").text


def on_servers(lab: Lab) -> None:
    """Two nodes beside the lab's own, which is the master, in an installation by site.yml."""
    settings = replace(lab.cluster.settings, launcher="systemd", master_node="cpu01")
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    for name in ("gpu02", "gpu03"):
        a_node(lab.cluster, 1, name=name)


def test_nodes_are_chosen_before_a_forecast_can_be_run(lab: Lab) -> None:
    on_servers(lab)
    chief = lab.browser(lab.administrator)
    page = chief.get("/repairs/restart-worker-agent").text
    assert (
        "Choose nodes first" in page and "Run it" not in page and "Left out" not in chief.get("/repairs").text
    )
    page = chief.get("/repairs/restart-worker-agent?nodes=2&nodes=3").text
    assert "on gpu02, gpu03" in page and "Only look ahead" in page
    assert page.count('type="hidden" name="nodes"') == 2


def test_what_has_to_be_drained_first_is_said_and_refused(lab: Lab) -> None:
    on_servers(lab)
    chief = lab.browser(lab.administrator)
    page = chief.get("/repairs/reset-gpu?nodes=2").text
    assert "Jobs run or may start there: gpu02." in page
    seen = re.search('name="etag" value="(.*?)"', page)
    assert seen is not None
    answer = chief.post("/repairs/reset-gpu", data={"etag": seen[1], "reason": "Xid 95", "nodes": "2"})
    assert answer.status_code == 422 and "Drain these nodes" in answer.text
