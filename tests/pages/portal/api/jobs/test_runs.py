"""Several jobs at once over REST: stopped, run again, tagged and noted; the list is searched and ordered."""

from typing import Any

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.store.jobs import headline_columns
from portal.api.jobs.runs import MAX_JOBS_CHOSEN
from tests.builders import a_job, a_user
from tests.pages.portal.rest_lab import Lab


def post(lab: Lab, path: str, expected: int, **body: Any) -> Any:
    answer = lab.client.post(f"/api/v1/jobs{path}", json=body, headers=lab.headers())
    assert answer.status_code == expected, answer.text
    return answer.json


def test_chosen_jobs_are_tagged_noted_run_again_and_stopped(lab: Lab) -> None:
    jobs = [
        a_job(lab.cluster, lab.training, lab.member, dataset_id=lab.dataset.id, name=name)
        for name in ("a", "b")
    ]
    ids = [job.id for job in jobs]
    tagged = post(lab, "/tags", 200, job_ids=ids, add=["Paper"])["items"]
    assert [row["tags"] for row in tagged] == [["paper"]] * 2
    assert [row["note"] for row in post(lab, "/note", 200, job_ids=ids[:1], note="the one")["items"]] == [
        "the one"
    ]
    made = post(lab, "/rerun", 201, job_ids=ids)["items"]
    assert [row["name"] for row in made] == ["a", "b"] and made[0]["id"] > ids[1]
    stopped = post(lab, "/stop", 202, job_ids=ids)["items"]
    assert [row["state"] for row in stopped] == ["stopped", "stopped"]
    listed = lab.client.get("/api/v1/jobs?tag=paper&order=oldest", headers=lab.headers()).json["items"]
    assert [(row["id"], row["tags"], row["note"]) for row in listed] == [
        (ids[0], ["paper"], "the one"),
        (ids[1], ["paper"], None),
    ]


def test_the_list_is_ordered_by_the_headline_metric(lab: Lab) -> None:
    for value in (0.5, 0.9):
        headline = headline_columns(HeadlineMetric("accuracy/validation", value, is_best=True))
        a_job(lab.cluster, lab.training, lab.member, name="scored", **headline)
    answer = lab.client.get("/api/v1/jobs?order=best&search=score", headers=lab.headers()).json["items"]
    assert [row["headline"]["value"] for row in answer] == [0.9, 0.5]
    assert answer[0]["headline"]["text"] == "val accuracy 90.0 % (best)"
    one = lab.client.get(f"/api/v1/jobs/{answer[0]['id']}", headers=lab.headers()).json
    assert (one["headline"]["metric"], one["tags"]) == ("accuracy/validation", [])


def test_strangers_and_wrong_bodies_change_nothing(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.training, lab.member)
    headers = lab.headers(a_user(lab.cluster))
    for path in ("stop", "rerun", "tags"):
        answer = lab.client.post(f"/api/v1/jobs/{path}", json={"job_ids": [job.id]}, headers=headers)
        assert answer.status_code == 404
    post(lab, "/stop", 422, job_ids=[])
    post(lab, "/stop", 422, job_ids=list(range(1, MAX_JOBS_CHOSEN + 2)))
    post(lab, "/tags", 422, job_ids=[job.id], add=["a b"])
