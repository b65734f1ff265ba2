"""The page of a repair run shows its tasks, failures and the next repair."""

import re
from datetime import timedelta

from cluster.domain.repairs.run_matrix import RepairVerdict
from tests.builders import a_repair_run
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_repairs import on_servers


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
