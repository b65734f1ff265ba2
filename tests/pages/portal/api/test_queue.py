"""The queue over REST: the same order and sentences as the page, and what a manager may do."""

from typing import Any

import pytest

from cluster.domain.states import JobState
from cluster.services.queue.running_jobs import NO_KNOWN_END
from cluster.store.nodes import Unit
from tests.builders import a_job, a_user, holding
from tests.pages.portal.rest_lab import Lab
from tests.queue_reports import report_queue


@pytest.fixture
def waiting(lab: Lab) -> list[int]:
    """Three jobs behind one that holds the only node's units."""
    running = a_job(lab.cluster, lab.training, lab.member, 2, JobState.RUNNING, time_limit_seconds=600)
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    holding(lab.cluster, running, units)
    return [a_job(lab.cluster, lab.training, lab.member, time_limit_seconds=60).id for _ in range(3)]


def read_queue(lab: Lab, **query: Any) -> dict[str, Any]:
    answer = lab.client.get("/api/v1/queue", headers=lab.headers(), query_string=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def test_the_queue_is_told_in_order_with_sentences_and_starts(lab: Lab, waiting: list[int]) -> None:
    report_queue(lab.cluster)
    told = read_queue(lab)
    assert [row["id"] for row in told["waiting"]] == waiting
    codes = [row["waiting"]["code"] for row in told["waiting"]]
    assert codes == ["waiting.quota_used", "waiting.ahead_in_queue", "waiting.ahead_in_queue"]
    assert all("starts_at" in row["waiting"]["data"] for row in told["waiting"])
    counted = {row["code"]: (row["count"], row["more"]) for row in told["reasons"]}
    assert counted == {"waiting.ahead_in_queue": (2, False), "waiting.quota_used": (1, False)}
    assert (len(told["running"]), told["running"][0]["nodes"]) == (1, ["gpu01"])


def test_pages_follow_each_other(lab: Lab, waiting: list[int]) -> None:
    seen, cursor = [], ""
    for _ in range(6):
        page = read_queue(lab, limit=1, cursor=cursor, workspace_id=lab.workspace.id)
        seen += [row["id"] for row in page["waiting"]]
        if not (cursor := page["next_cursor"] or ""):
            break
    assert seen == waiting
    assert lab.client.get("/api/v1/queue?cursor=x.y", headers=lab.headers()).status_code == 422
    assert lab.client.get("/api/v1/queue?cursor=front-x", headers=lab.headers()).status_code == 422


def test_a_manager_arranges_the_line_over_rest(lab: Lab, waiting: list[int]) -> None:
    manager, member = lab.headers(lab.workspace.manager), lab.headers()
    path = f"/api/v1/jobs/{waiting[2]}"
    assert lab.client.post(f"{path}/move", json={"step": "front"}, headers=member).status_code == 403
    assert lab.client.post(f"{path}/move", json={"step": "front"}, headers=manager).status_code == 200
    assert [row["id"] for row in read_queue(lab)["waiting"]][0] == waiting[2]
    assert lab.client.post(f"{path}/move", json={"step": "sideways"}, headers=manager).status_code == 422
    held = lab.client.post(f"{path}/hold", headers=manager).json
    assert held["waiting"]["code"] == "waiting.on_hold" and held["held_at"]
    assert lab.client.post(f"{path}/release", headers=manager).json["held_at"] is None


def test_one_state_is_told_alone(lab: Lab, waiting: list[int]) -> None:
    manager = lab.headers(lab.workspace.manager)
    lab.client.post(f"/api/v1/jobs/{waiting[1]}/hold", headers=manager)

    def told(state: str) -> tuple[list[int], int]:
        answer = read_queue(lab, state=state)
        return [row["id"] for row in answer["waiting"]], len(answer["running"])

    assert told("waiting") == ([waiting[0], waiting[2]], 0)
    assert told("held") == ([waiting[1]], 0)
    assert told("running") == ([], 1)
    assert lab.client.get("/api/v1/queue?state=asleep", headers=lab.headers()).status_code == 422


def test_running_jobs_come_page_by_page(lab: Lab) -> None:
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    runs = [a_job(lab.cluster, lab.training, lab.member, state=JobState.RUNNING) for _ in units]
    for job, unit in zip(runs, units, strict=True):
        holding(lab.cluster, job, [unit])
    first = read_queue(lab, state="running", limit=1)
    assert first["next_cursor"] == f"run-{NO_KNOWN_END}.{runs[0].id}" and first["more_running"]
    second = read_queue(lab, state="running", limit=1, cursor=first["next_cursor"])
    assert [row["job"]["id"] for row in second["running"]] == [runs[1].id]
    assert second["running"][0]["progress"] is None
    assert lab.client.get("/api/v1/queue?cursor=run-x", headers=lab.headers()).status_code == 422


def test_queue_list_job_and_why_say_the_same(lab: Lab, waiting: list[int]) -> None:
    report_queue(lab.cluster)
    lab.client.post(f"/api/v1/jobs/{waiting[2]}/hold", headers=lab.headers(lab.workspace.manager))
    told = {row["id"]: row["waiting"] for row in read_queue(lab)["waiting"]}
    assert sorted(told) == waiting
    assert {one["code"] for one in told.values()} == {
        "waiting.quota_used",
        "waiting.ahead_in_queue",
        "waiting.on_hold",
    }

    def get(path: str) -> Any:
        return lab.client.get(f"/api/v1{path}", headers=lab.headers()).json

    listed = {row["id"]: row["waiting"] for row in get("/jobs?state=waiting")["items"]}
    alone = {job_id: get(f"/jobs/{job_id}")["waiting"] for job_id in waiting}
    why = {job_id: get(f"/jobs/{job_id}/why")["reason"] for job_id in waiting}
    assert told == listed == alone == why


def test_of_foreign_jobs_one_learns_number_units_place_and_end_alone(lab: Lab, waiting: list[int]) -> None:
    """Who shares the GPUs sees how long they are taken, and not whose work it is."""
    report_queue(lab.cluster)
    stranger = lab.headers(a_user(lab.cluster, "taeho"))
    told: Any = lab.client.get("/api/v1/queue", headers=stranger).json
    assert [set_values(row) for row in told["waiting"]] == [{"id", "units"}] * 3
    assert [set_values(row) - {"progress"} for row in told["running"]] == [
        {"units", "nodes", "started_at", "ends_at"}
    ]
    node: Any = lab.client.get("/api/v1/nodes/1", headers=stranger).json
    assert [set_values(row) for row in node["running"]] == [{"job_id", "units", "ends_at"}]
    for text in ("minji", "vision", "digits-lenet"):
        assert text not in lab.client.get("/api/v1/queue", headers=stranger).text
        assert text not in lab.client.get("/api/v1/nodes/1", headers=stranger).text
    for job_id in (*waiting, 1):
        for path in ("", "/why", "/log", "/files", "/accounting"):
            assert lab.client.get(f"/api/v1/jobs/{job_id}{path}", headers=stranger).status_code == 404


def set_values(row: dict[str, Any]) -> set[str]:
    return {name for name, value in row.items() if value is not None}
