"""The runs table: search, filters and orders, each page by page."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.states import JobState, Visibility
from cluster.services.context import Cluster
from cluster.services.jobs.runs_table import JobFilter, JobOrder, list_runs
from cluster.store.jobs import Job, JobTag, headline_columns
from tests.builders import a_job, a_training, actor_of, add, an_administrator
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def a_result(cluster: Cluster, lab: Lab, accuracy: float, **columns: Any) -> Job:
    """A finished job; the later it is made, the later it ended."""
    now = cluster.clock()
    headline = headline_columns(HeadlineMetric("accuracy/validation", accuracy, is_best=True))
    state = {"state": JobState.FINISHED, "started_at": now, "ended_at": now + timedelta(seconds=accuracy)}
    return a_job(cluster, lab.training, lab.member, **(state | headline | columns))


def test_every_order_is_paged_without_gap_or_repetition(cluster: Cluster, lab: Lab) -> None:
    accuracies = [0.5, 0.9, 0.7, 0.9, 0.1]
    jobs = [a_result(cluster, lab, accuracy).id for accuracy in accuracies]
    waiting = a_job(cluster, lab.training, lab.member).id
    by_score = sorted(zip(accuracies, jobs, strict=True))
    expected = {
        JobOrder.NEWEST: [waiting, *reversed(jobs)],
        JobOrder.OLDEST: [*jobs, waiting],
        JobOrder.BEST: [job for _, job in reversed(by_score)],
        JobOrder.WORST: [job for _, job in by_score],
        JobOrder.ENDED: [job for _, job in reversed(by_score)],
    }
    for order, wanted in expected.items():
        found: list[int] = []
        while page := list_runs(
            cluster, lab.actor, JobFilter(), order, found[-1] if found else None, limit=2
        ):
            found += [run.job.id for run in page]
        assert found == wanted, order


def test_a_search_finds_names_notes_tags_people_trainings_and_numbers(cluster: Cluster, lab: Lab) -> None:
    wide = a_job(cluster, lab.training, lab.member, name="Wide_net", note="for the 2nd table")
    tagged = a_job(cluster, lab.training, lab.manager, name="narrow")
    add(cluster, JobTag(tag="baseline", job_id=tagged.id))

    def found(text: str) -> set[int]:
        return {run.job.id for run in list_runs(cluster, lab.actor, JobFilter(search=text))}

    assert found("wide") == found("2nd") == {wide.id}
    assert found("baseline") == found("arro") == {tagged.id}
    assert found("e_n") == {wide.id}
    assert found(lab.manager.name) == {tagged.id}
    assert found(lab.training.name) == {wide.id, tagged.id}
    assert wide.id in found(f"job-{wide.id}") and wide.id in found(str(wide.id))
    assert found("nothing like it") == set()


def test_filters_narrow_every_order(cluster: Cluster, lab: Lab) -> None:
    good, bad = a_result(cluster, lab, 0.9), a_result(cluster, lab, 0.2, state=JobState.FAILED)
    other = a_result(cluster, lab, 0.5, **headline_columns(HeadlineMetric("bleu", 12, is_best=True)))
    add(cluster, JobTag(tag="keep", job_id=good.id))
    add(cluster, JobTag(tag="late", job_id=good.id))
    wanted = [
        (JobFilter(tag="keep"), {good.id}),
        (JobFilter(metric="bleu"), {other.id}),
        (JobFilter(states=[JobState.FAILED]), {bad.id}),
        (JobFilter(of={"workspace_id": lab.workspace.id, "user_id": lab.manager.id}), set()),
    ]
    for order in JobOrder:
        for narrowed, expected in wanted:
            assert {run.job.id for run in list_runs(cluster, lab.actor, narrowed, order)} == expected
    (run,) = list_runs(cluster, lab.actor, JobFilter(tag="keep"))
    assert run.job.tags == ("keep", "late")


def test_no_order_and_no_search_shows_a_private_training(cluster: Cluster, lab: Lab) -> None:
    private = a_training(cluster, lab.workspace, lab.manager, visibility=Visibility.PRIVATE)
    hidden = a_result(cluster, lab, 0.9, name="my-idea")
    with cluster.store.write() as session:
        session.get_one(Job, hidden.id).training_id = private.id
    for order in JobOrder:
        assert list_runs(cluster, lab.actor, JobFilter(), order) == []
        assert list_runs(cluster, lab.actor, JobFilter(search="my-idea"), order) == []
    assert list_runs(cluster, lab.actor, JobFilter(search=str(hidden.id))) == []


def test_parameters_come_with_the_jobs(cluster: Cluster, lab: Lab) -> None:
    for rate in ("0.1", "1"):
        a_job(cluster, lab.training, lab.member, command=["train.py", "--lr", rate])
    found = list_runs(cluster, lab.actor, JobFilter())
    assert [run.parameters["lr"] for run in found] == ["1", "0.1"]


@pytest.mark.parametrize(
    ("order", "of", "index"),
    [
        (JobOrder.BEST, {}, "ix_jobs_score"),
        (JobOrder.WORST, {"workspace_id": 1}, "ix_jobs_workspace_score"),
        (JobOrder.ENDED, {}, "ix_jobs_ended_at"),
        (JobOrder.ENDED, {"workspace_id": 1}, "ix_jobs_workspace_ended_at"),
        (JobOrder.OLDEST, {"workspace_id": 1}, "ix_jobs_workspace_id_id"),
    ],
)
def test_each_order_has_an_index(cluster: Cluster, order: JobOrder, of: dict[str, int], index: str) -> None:
    """SQLite alone: PostgreSQL chooses by the number of rows."""
    if not cluster.store.is_sqlite:
        return
    executed: list[tuple[str, Any]] = []
    note = lambda *given: executed.append((given[2], given[3]))  # noqa: E731
    administrator = actor_of(an_administrator(cluster))
    event.listen(cluster.store.engine, "before_cursor_execute", note)
    states = [] if order is JobOrder.OLDEST else [JobState.FINISHED, JobState.FAILED]
    list_runs(cluster, administrator, JobFilter(states, of), order, after_id=7)
    event.remove(cluster.store.engine, "before_cursor_execute", note)
    statement, parameters = next(each for each in executed if each[0].startswith("SELECT"))
    with cluster.store.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    assert any(f"INDEX {index} (" in row[3] for row in plan), plan
