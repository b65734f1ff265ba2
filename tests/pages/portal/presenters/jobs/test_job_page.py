"""A job over several nodes: where it is, and what it uses."""

import re

from sqlalchemy import select

from cluster.domain.states import JobState
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, holding
from tests.pages.portal.pages_lab import Lab, metric_row


def test_a_gang_names_all_its_nodes_with_their_units(lab: Lab) -> None:
    other = a_node(lab.cluster, 3, name="cpu02")
    job = a_job(lab.cluster, lab.lenet, state=JobState.RUNNING, units=3)
    holding(lab.cluster, job, [*lab.free_units()[:1], *other.units[:2]])
    browser = lab.browser(lab.seoyeon)
    for tab in ("overview", "history"):
        text = as_text(browser.get(f"/jobs/{job.id}?tab={tab}").text)
        assert "· cpu01, cpu02 · 3 CPU slots" in text
        assert "cpu01 1 CPU slot cpu02 2 CPU slots" in text


def test_what_all_ranks_use_is_said_and_the_launcher_s_own_number_is_not(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.lenet, state=JobState.RUNNING, units=2)
    other = a_node(lab.cluster, 1, name="cpu02")
    attempt = holding(lab.cluster, job, [*lab.free_units()[:1], *other.units])
    control = lab.out(job).parent / "control"
    control.mkdir(parents=True, exist_ok=True)
    (control / "usage.json").write_text('{"cpu_seconds": 84, "rss_bytes": 31000000, "pid": 7}')
    browser = lab.browser(lab.seoyeon)
    text = as_text(browser.get(f"/jobs/{job.id}").text)
    assert "CPU and memory 1 min 24 s 29.6 MiB" in text and "pid 7" not in text
    with lab.cluster.store.write() as session:
        last = session.scalars(select(Allocation).where(Allocation.attempt_id == attempt.id)).all()[-1]
        session.delete(last)
    assert "pid 7" in browser.get(f"/jobs/{job.id}").text


def test_a_job_whose_loss_became_nan_says_so_while_it_runs_and_after_it_finished(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "metrics.jsonl").write_text(
        metric_row(1, 1, 10, loss__train=0.5, f1=0.1)
        + '{"step": 2, "epoch": 2, "time": 20, "scalars": {"loss/train": null}, "not_finite": ["loss/train"]}\n'
    )
    browser, said = lab.browser(lab.seoyeon), "Its loss/train became NaN or infinite."
    page = as_text(browser.get(f"/jobs/{job.id}").text)
    assert said in page and "Use a smaller learning rate" in page
    lab.ended(job, "exit.finished", JobState.FINISHED, exit_code=0, not_finite="loss/train")
    assert as_text(browser.get(f"/jobs/{job.id}").text).count(said) == 1
    assert said in browser.get("/jobs").text
    assert said in browser.get("/").text


def as_text(html: str) -> str:
    """What stands on the page, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split()).replace(" ,", ",")
