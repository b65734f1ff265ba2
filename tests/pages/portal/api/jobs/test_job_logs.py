"""REST reads and searches all logs of a job in one."""

from cluster.services.storage import folders
from cluster.store.nodes import Unit
from tests.builders import a_job, a_user, holding
from tests.pages.portal.rest_lab import Lab


def test_all_logs_are_read_and_searched_by_whom_may_see_the_job(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.training, lab.member)
    with lab.cluster.store.read() as session:
        holding(lab.cluster, job, list(session.query(Unit))[:1])
    attempt = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job.id, 1)
    for folder in ("out", "control"):
        (attempt / folder).mkdir(parents=True)
    (attempt / "out" / "rank-0.stdout").write_text("epoch 1\nepoch 2\n")
    (attempt / "out" / "rank-1.stderr").write_text("ValueError: bad\n")
    (attempt / "control" / "log_times").write_text("10.0 rank-0.stdout 16\n5.0 rank-1.stderr 16\n")
    address, headers = f"/api/v1/jobs/{job.id}/log", lab.headers()
    merged = lab.client.get(f"{address}/merged", headers=headers).json
    assert [(line["source"], line["text"]) for line in merged["lines"]] == [
        ("rank-1", "ValueError: bad"),
        ("rank-0", "epoch 1"),
        ("rank-0", "epoch 2"),
    ]
    found = lab.client.get(f"{address}/search?text=EPOCH", headers=headers).json
    assert (found["count"], found["covers_all"], [each["line"] for each in found["matches"]]) == (
        2,
        True,
        [1, 2],
    )
    assert found["first_error"]["text"] == "ValueError: bad"
    assert found["first_error"]["time"] == "1970-01-01T00:00:05+00:00"
    only = lab.client.get(f"{address}/search?text=epoch&source=rank-1", headers=headers).json
    assert only["count"] == 0
    assert lab.client.get(f"{address}/merged?before=nan", headers=headers).status_code == 422
    stranger = lab.headers(a_user(lab.cluster, "stranger"))
    for path in ("merged", "search?text=epoch"):
        assert lab.client.get(f"{address}/{path}", headers=stranger).status_code == 404
