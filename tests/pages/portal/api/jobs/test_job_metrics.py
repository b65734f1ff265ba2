"""REST answers with the metrics of a job: summed up, and every row as CSV."""

import json

from cluster.services.storage import folders
from cluster.store.jobs import Job
from cluster.store.nodes import Unit
from tests.builders import a_job, a_user, holding
from tests.pages.portal.rest_lab import Lab

RESULTS = {"loss/train": [0.5, 2.0, 0.5], "accuracy/validation": [0.1, 0.93, 0.91]}

ROWS = ["1,1.0,9.5,2.0", "4,1.0,9.5,0.5"]


def job_with_metrics(lab: Lab) -> Job:
    job = a_job(lab.cluster, lab.training, lab.member)
    with lab.cluster.store.read() as session:
        holding(lab.cluster, job, list(session.query(Unit))[:1])
    attempt = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job.id, 1)
    for name in ("out", "control"):
        (attempt / name).mkdir(parents=True)
    (attempt / "control" / "usage.json").write_text(json.dumps({"results": RESULTS}))
    rows = ({"step": step, "epoch": 1, "time": 9.5, "scalars": {"loss/train": 2.0 / step}} for step in (1, 4))
    (attempt / "out" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return job


def test_each_metric_has_its_lowest_highest_and_last_value(lab: Lab) -> None:
    address = f"/api/v1/jobs/{job_with_metrics(lab).id}/metrics"
    assert lab.client.get(address, headers=lab.headers()).get_json() == {
        "attempt": 1,
        "items": [
            {"name": "accuracy/validation", "lowest": 0.1, "highest": 0.93, "last": 0.91},
            {"name": "loss/train", "lowest": 0.5, "highest": 2.0, "last": 0.5},
        ],
    }
    assert lab.client.get(f"{address}?attempt=9", headers=lab.headers()).status_code == 404
    stranger = lab.headers(a_user(lab.cluster, "stranger"))
    for refused in (address, f"{address}/csv"):
        assert lab.client.get(refused, headers=stranger).status_code == 404


def test_every_row_comes_as_csv(lab: Lab) -> None:
    answer = lab.client.get(f"/api/v1/jobs/{job_with_metrics(lab).id}/metrics/csv", headers=lab.headers())
    assert answer.mimetype == "text/csv"
    assert answer.get_data(as_text=True).splitlines() == ["step,epoch,time,loss/train", *ROWS]
