"""The pages of repairs: what is said before the click, what a refusal keeps, what a run shows."""

import re
from dataclasses import replace
from datetime import time, timedelta
from pathlib import Path

import pytest

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.repairs import previews, requests
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
    lab.app.extensions["cluster"] = with_a_broken_file(lab.cluster, tmp_path)
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
    assert "{{ lookup(" in page.replace("&#39;", "'") and "Running" in page and "preparing" in page


def test_a_stale_forecast_is_shown_anew_and_keeps_the_reason(lab: Lab) -> None:
    answer = lab.browser(lab.administrator).post("/repairs/back-up-now", data=REASON | {"etag": "old"})
    assert answer.status_code == 409
    assert "Something changed since this forecast" in answer.text and "lookup(" in answer.text


def test_a_dangerous_repair_says_which_name_it_wants(lab: Lab) -> None:
    data = {"etag": etag(lab, "free-disk-space"), "reason": "full", "typed": "cpu02"}
    answer = lab.browser(lab.administrator).post("/repairs/free-disk-space", data=data)
    assert answer.status_code == 422
    assert "cpu02 is not the name of this forecast. Type cpu01." in answer.text


def test_whoever_comes_second_is_shown_the_first_one(lab: Lab) -> None:
    run = a_repair_run(lab.cluster, lab.administrator, host="cpu01")
    page = lab.browser(lab.administrator).get("/repairs/verify-backup").text
    assert f"Repair {run.id} runs on cpu01: hjkim asked for it" in page
    assert 'name="reason"' not in page


def test_a_run_shows_each_task_what_failed_and_what_the_checks_said(lab: Lab) -> None:
    now = lab.cluster.clock()
    run = a_repair_run(
        lab.cluster,
        lab.administrator,
        name="restart-task-workers",
        started_at=now,
        ended_at=now + timedelta(seconds=12),
        verdict=RepairVerdict.NOT_VERIFIED,
        tasks=[
            {"name": "Restart the task workers for datasets, environments and backups", "hosts": {"lab-a": "failed"},
             "lines": {"lab-a": 5}, "seconds": 1.5, "output": {"lab-a": "no such program"}},
            {"name": "Ask again for operations that were given up", "hosts": {}},
        ],
        checks=[{"is_ok": False, "code": "check.services_running.not", "data": {"names": ["tasks-general"]}}],
    )  # fmt: skip
    page = lab.browser(lab.administrator).get(f"/repairs/runs/{run.id}").text
    for said in (
        "Not verified",
        "12 s",
        "no such program",
        "tasks-general do not run",
        "To first failure",
        "Result",
    ):
        assert said in page, said
    assert re.search(r'href="#L5"', page)
    korean = lab.browser(lab.administrator, "ko").get(f"/repairs/runs/{run.id}").text
    assert "포기된 일을 다시 요청" in korean and "tasks-general이(가) 돌지 않음" in korean


def test_a_line_of_its_log_that_never_ends_is_shown_by_its_beginning(lab: Lab) -> None:
    run = a_repair_run(lab.cluster, lab.administrator)
    log = lab.cluster.settings.state_dir / "log" / f"operation-{run.operation_id or run.offline_record}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"fatal: {'x' * 20_000}\nPLAY RECAP\n")
    page = lab.browser(lab.administrator).get(f"/repairs/runs/{run.id}").text
    assert "fatal: xxx" in page and "x" * 1000 not in page and "PLAY RECAP" in page


def test_an_operation_of_a_repair_leads_to_its_run(lab: Lab) -> None:
    administrator = lab.browser(lab.administrator)
    answer = administrator.post("/repairs/back-up-now", data=REASON | {"etag": etag(lab, "back-up-now")})
    run = requests.list_repair_runs(lab.cluster, actor_of(lab.administrator))[0]
    assert administrator.get(f"/operations/{run.operation_id}").location == answer.location


def test_cancelling_is_asked_once_and_forced_the_second_time(lab: Lab) -> None:
    run = a_repair_run(lab.cluster, lab.administrator)
    administrator = lab.browser(lab.administrator)
    assert administrator.post(f"/repairs/runs/{run.id}/cancel").status_code == 303
    assert "End it by force" in administrator.get(f"/repairs/runs/{run.id}").text


def test_the_rail_has_repairs_for_administrators_alone(lab: Lab) -> None:
    assert 'href="/repairs"' in lab.browser(lab.administrator).get("/").text
    assert 'href="/repairs"' not in lab.browser(lab.seoyeon).get("/").text


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "No new backup has been proven by a restore"), ("ko", "되살려 확인한 새 백업이 없습니다")],
)
def test_a_missing_backup_is_said_on_the_first_page_to_administrators(
    lab: Lab, language: str, said: str
) -> None:
    assert said not in lab.browser(lab.administrator, language).get("/").text
    settings = replace(lab.cluster.settings, backup_at=time(3, 0))
    lab.app.extensions["cluster"] = replace(lab.cluster, settings=settings)
    assert said not in lab.browser(lab.administrator, language).get("/").text
    lab.cluster.clock.move(hours=27)  # type: ignore[attr-defined]
    assert said in lab.browser(lab.administrator, language).get("/").text
    assert said not in lab.browser(lab.seoyeon, language).get("/").text


def on_servers(lab: Lab) -> None:
    """Two nodes beside the lab's own, which is the master, in an installation by site.yml."""
    settings = replace(lab.cluster.settings, launcher="systemd", master_node="cpu01")
    lab.app.extensions["cluster"] = replace(lab.cluster, settings=settings)
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


def test_a_run_that_failed_on_some_nodes_leads_to_those_alone(lab: Lab) -> None:
    on_servers(lab)
    tasks = [
        {"name": "Restart the agent", "hosts": {"gpu02": "ok", "gpu03": "failed"}, "lines": {}, "output": {}}
    ]
    run = a_repair_run(
        lab.cluster, lab.administrator, "restart-worker-agent", target="node-2", host="gpu02, gpu03",
        targets=[["node-2", "gpu02"], ["node-3", "gpu03"]], tasks=tasks,
        ended_at=lab.cluster.clock(), verdict=RepairVerdict.NOT_VERIFIED,
    )  # fmt: skip
    page = lab.browser(lab.administrator).get(f"/repairs/runs/{run.id}").text
    assert "/repairs/restart-worker-agent?nodes=3" in page and "Again on the failed nodes only" in page


def test_a_repair_that_did_not_help_leads_to_the_next_one_where_it_did_not(lab: Lab) -> None:
    on_servers(lab)

    def page_of(verdict: RepairVerdict) -> str:
        run = a_repair_run(
            lab.cluster, lab.administrator, "restart-worker", target="node-2", host="gpu02",
            targets=[["node-2", "gpu02"]], ended_at=lab.cluster.clock(), verdict=verdict,
        )  # fmt: skip
        return lab.browser(lab.administrator).get(f"/repairs/runs/{run.id}").text

    helpless = page_of(RepairVerdict.NOT_VERIFIED)
    assert "What to try next" in helpless and "/repairs/reboot-node?nodes=2" in helpless
    assert "What to try next" not in page_of(RepairVerdict.VERIFIED)


def test_a_node_that_does_not_report_leads_to_its_repairs_the_gentlest_first(lab: Lab) -> None:
    on_servers(lab)
    lab.cluster.clock.move(minutes=1)  # type: ignore[attr-defined]
    chief, member = lab.browser(lab.administrator), lab.browser(lab.minjun)
    page = chief.get("/nodes").text
    places = [page.index(f"/repairs/{name}?nodes=2") for name in ("restart-worker-agent", "reconnect-node")]
    assert places == sorted(places) and "/repairs/reboot-node?nodes=2" in page
    assert "/repairs/" not in member.get("/nodes").text
