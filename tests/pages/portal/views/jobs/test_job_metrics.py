"""The metrics of a job come as curves for the graphs, as a table and as a file."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from portal.job_files.metrics import metrics_cache
from portal.job_files.metrics.job_metrics import JobMetrics
from portal.job_files.metrics.metrics_cache import MetricsCache
from tests.pages.portal.pages_lab import Lab, metric_row
from tests.pages.portal.views.jobs.test_jobs import write_metrics


def test_numbers_come_as_pairs_of_x_and_y_and_are_not_sent_twice(lab: Lab) -> None:
    job = lab.a_running_job()
    write_metrics(lab, job, 5)
    browser = lab.browser(lab.seoyeon)
    for axis in ("step", "epoch", "time"):
        answer = browser.get(f"/jobs/{job.id}/metrics?x={axis}")
        read = answer.get_json()
        assert {len(column) for curve in read["series"].values() for column in curve} == {5}
        assert all(xs == sorted(xs) for xs, _ in read["series"].values())
        again = browser.get(
            f"/jobs/{job.id}/metrics?x={axis}", headers={"If-None-Match": answer.headers["ETag"]}
        )
        assert again.status_code == 304
    assert browser.get(f"/jobs/{job.id}/metrics?x=epoch").get_json()["series"]["loss/train"][0] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert browser.get(f"/jobs/{job.id}/metrics?x=time").get_json()["series"]["loss/train"][0] == [
        0,
        1,
        2,
        3,
        4,
    ]
    write_metrics(lab, job, 6)
    fresh = browser.get(f"/jobs/{job.id}/metrics", headers={"If-None-Match": answer.headers["ETag"]})
    assert fresh.status_code == 200


def test_a_spike_and_a_nan_survive_thinning(lab: Lab) -> None:
    job = lab.a_running_job()
    with (lab.out(job) / "metrics.jsonl").open("w") as file:
        for step in range(20_000):
            loss = 99.0 if step == 7_777 else float("nan") if step == 12_345 else 1.0
            file.write(metric_row(step, step / 100, step, loss=loss))
    read = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/metrics").get_json()
    while not read["is_whole"]:
        read = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/metrics").get_json()
    xs, ys = read["series"]["loss"]
    assert len(xs) <= 1000
    assert ys[xs.index(7_777)] == 99.0
    assert ys[xs.index(12_345)] is None


def test_whatever_a_program_logs_gets_a_graph(lab: Lab) -> None:
    job = lab.a_running_job()
    logged = {"bleu": 0.3, "perplexity__validation": 9.0, "perplexity__train": 8.0, "val_acc": 0.5}
    (lab.out(job) / "metrics.jsonl").write_text(metric_row(1, 1, 1, **logged))
    charts = lab.browser(lab.seoyeon, "ko").get(f"/jobs/{job.id}/metrics").get_json()["charts"]
    assert {chart["title"]: [line["word"] for line in chart["lines"]] for chart in charts} == {
        "acc": ["검증"],
        "bleu": ["지금"],
        "perplexity": ["학습", "검증"],
    }
    page = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").get_data(as_text=True)
    assert "data-own-charts" in page and page.count("data-chart ") == 1  # The template's alone.


def test_names_beyond_the_limit_are_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.job_files.metrics.job_metrics.MAX_METRICS", 2)
    job = lab.a_running_job()
    (lab.out(job) / "metrics.jsonl").write_text(
        metric_row(1, 1, 1, a=1.0, b=2.0, c=3.0) + metric_row(2, 1, 1, a=1.0, c=3.0, d=4.0)
    )
    read = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/metrics").get_json()
    assert (sorted(read["series"]), read["left_out"]) == (["a", "b"], 2)


def test_the_file_of_numbers_has_every_row(lab: Lab) -> None:
    job = lab.a_running_job()
    write_metrics(lab, job, 3)
    answer = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/metrics?format=csv")
    lines = answer.text.splitlines()
    assert lines[0] == "step,epoch,time,accuracy/validation,epochs,loss/train"
    assert len(lines) == 7
    assert "attachment" in answer.headers["Content-Disposition"]
    table = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/metrics?format=table").text
    assert "The file has 6 rows" in table
    assert table.count("<tr>") == 4


def test_a_large_file_of_numbers_is_read_by_several_requests_and_says_so(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = lab.a_running_job()
    with (lab.out(job) / "metrics.jsonl").open("w") as file:
        file.writelines(metric_row(step, step / 100, step, loss=1.0) for step in range(5_000))
    monkeypatch.setattr(metrics_cache, "READ_SECONDS", 0.01)
    browser = lab.browser(lab.seoyeon)
    first = browser.get(f"/jobs/{job.id}/metrics").get_json()
    assert not first["is_whole"] and first["size"] > 0
    page = browser.get(f"/jobs/{job.id}/metrics?format=table").text
    assert "The numbers are being read" in page
    for _ in range(500):
        last = browser.get(f"/jobs/{job.id}/metrics").get_json()
        if last["is_whole"]:
            break
    assert last["size"] == (lab.out(job) / "metrics.jsonl").stat().st_size
    assert "The numbers are being read" not in browser.get(f"/jobs/{job.id}/metrics?format=table").text
    assert len(browser.get(f"/jobs/{job.id}/metrics?format=csv").text.splitlines()) == 5_001


def test_a_job_whose_numbers_take_long_keeps_no_other_page_waiting(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = lab.a_running_job(), lab.a_running_job()
    browsers = [lab.browser(lab.seoyeon) for _ in range(2)]
    begun, may_end, read = threading.Event(), threading.Event(), MetricsCache.read

    def wait(reader: MetricsCache, root: Path, *out: str) -> JobMetrics:
        if out[3] == str(slow.id):
            begun.set()
            may_end.wait(20)
        return read(reader, root, *out)

    monkeypatch.setattr(MetricsCache, "read", wait)
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(browsers[0].get, f"/jobs/{slow.id}")
        try:
            assert begun.wait(10)
            page = pool.submit(browsers[1].get, f"/jobs/{quick.id}")
            assert page.result(timeout=10).status_code == 200
            assert not other.done()
        finally:
            may_end.set()
        assert other.result().status_code == 200


def test_a_person_has_two_files_of_numbers_written_at_once_and_may_ask_again(lab: Lab) -> None:
    job = lab.a_running_job()
    write_metrics(lab, job, 3)
    browser = lab.browser(lab.seoyeon)
    address = f"/jobs/{job.id}/metrics?format=csv"
    for _ in range(5):
        assert browser.head(address).status_code == 200
    under_way = [browser.get(address, buffered=False) for _ in range(2)]
    refused = browser.get(address)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == "5"
    assert "Wait until one of yours has arrived" in refused.text
    under_way[0].close()
    assert browser.get(address).text == under_way[1].text
    under_way[1].close()


@pytest.mark.parametrize("query", ["x=nonsense", "format=xml", "attempt=2", "attempt=-1"])
def test_a_bad_question_about_numbers_is_refused(lab: Lab, query: str) -> None:
    job = lab.a_running_job()
    assert lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/metrics?{query}").status_code in (404, 422)
