"""Lists, estimates and places of jobs, as their people may read them."""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from cluster.domain.errors import NotFound
from cluster.domain.states import (
    AttemptState,
    JobState,
    Launcher,
    Visibility,
)
from cluster.services.context import Cluster
from cluster.services.jobs import queries, state_counts, submission
from cluster.services.queue import submission_preview
from cluster.services.queue.queries import read_queue
from cluster.store.jobs import Attempt
from cluster.store.trainings import TrainingMember
from tests.builders import (
    a_job,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    add,
    an_administrator,
    holding,
)
from tests.conftest import Clock
from tests.queue_reports import report_queue
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_lists_are_filtered_paged_and_hold_no_foreign_job(cluster: Cluster, lab: Lab) -> None:
    private = a_training(cluster, lab.workspace, lab.manager, visibility=Visibility.PRIVATE)
    hidden = a_job(cluster, private)
    mine = [a_job(cluster, lab.training, lab.member) for _ in range(3)]
    done = a_job(cluster, lab.training, lab.manager, state=JobState.FINISHED)

    def ids(**filters: Any) -> list[int]:
        return [job.id for job in queries.list_jobs(cluster, lab.actor, **filters)]

    newest_first = [done.id, *(job.id for job in reversed(mine))]
    assert ids() == newest_first
    assert hidden.id in [job.id for job in queries.list_jobs(cluster, actor_of(lab.manager))]
    assert ids(states=[JobState.FINISHED]) == [done.id]
    assert ids(user_id=lab.member.id, limit=2) == newest_first[1:3]
    assert ids(before_id=mine[1].id) == [mine[0].id]
    assert ids(workspace_id=lab.workspace.id, training_id=lab.training.id) == newest_first
    assert queries.list_jobs(cluster, actor_of(a_user(cluster))) == []
    assert state_counts.count_live_jobs(cluster, lab.actor) == {"waiting": 3}
    with pytest.raises(NotFound):
        queries.read_job(cluster, lab.actor, hidden.id)


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({"states": [JobState.FAILED]}, "ix_jobs_ended"),
        ({"states": [JobState.RUNNING]}, "ix_jobs_live"),
        ({"states": [JobState.RUNNING], "workspace_id": 1}, "ix_jobs_workspace_live"),
        ({"training_id": 1}, "ix_jobs_training_id_id"),
    ],
)
def test_a_page_of_jobs_is_found_by_an_index_that_covers_it(
    cluster: Cluster, filters: dict[str, Any], index: str
) -> None:
    """SQLite alone: PostgreSQL chooses by the number of rows, and tests/bench/page_costs asks it at full size."""
    if not cluster.store.is_sqlite:
        return
    administrator = actor_of(an_administrator(cluster))
    executed: list[tuple[str, Any]] = []
    note = lambda *given: executed.append((given[2], given[3]))  # noqa: E731
    event.listen(cluster.store.engine, "before_cursor_execute", note)
    queries.list_jobs(cluster, administrator, **filters)
    event.remove(cluster.store.engine, "before_cursor_execute", note)
    statement, parameters = next(each for each in executed if each[0].startswith("SELECT"))
    with cluster.store.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    assert any(f"USING COVERING INDEX {index} (" in row[3] for row in plan), plan


def test_lists_name_what_a_job_belongs_to_by_one_statement(cluster: Cluster, lab: Lab) -> None:
    a_job(cluster, lab.training, lab.member)
    statements: list[str] = []
    note = lambda *given: statements.append(given[2])  # noqa: E731
    event.listen(cluster.store.engine, "before_cursor_execute", note)
    (listed,) = queries.list_jobs(cluster, lab.actor)
    event.remove(cluster.store.engine, "before_cursor_execute", note)
    assert len([each for each in statements if each.startswith("SELECT")]) == 1
    names = (listed.workspace_name, listed.training_name, listed.user_name)
    assert names == (lab.workspace.name, lab.training.name, lab.member.name)


def test_the_estimate_says_now_or_why_not(cluster: Cluster, lab: Lab) -> None:
    def check(units: int) -> tuple[bool, str | None]:
        launcher = Launcher.HOROVOD if units > 1 else Launcher.PLAIN
        request = replace(lab.request, units=units, launcher=launcher)
        estimate = submission_preview.preview_submission(cluster, lab.actor, lab.training.id, request)
        return estimate.starts_now, estimate.explanation.code if estimate.explanation else estimate.node

    assert check(2) == (True, lab.node.name)
    running = a_job(cluster, lab.training, state=JobState.RUNNING)
    holding(cluster, running, lab.node.units[:1])
    assert check(1) == (True, lab.node.name)
    assert check(2) == (False, "waiting.quota_used")
    submission.submit_job(
        cluster, lab.actor, lab.training.id, replace(lab.request, units=2, launcher=Launcher.HOROVOD)
    )
    assert check(1) == (False, "waiting.ahead_in_queue")


def test_the_queue_keeps_the_place_of_jobs_that_the_reader_may_not_see(
    cluster: Cluster, lab: Lab, clock: Clock
) -> None:
    private = a_training(cluster, lab.workspace, lab.manager, visibility=Visibility.PRIVATE)
    ten_minutes_ago = clock() - timedelta(minutes=10)
    a_job(
        cluster,
        lab.training,
        state=JobState.FINISHED,
        units=2,
        started_at=ten_minutes_ago,
        ended_at=clock(),
    )
    running = a_job(cluster, lab.training, lab.member, units=2, state=JobState.RUNNING)
    holding(cluster, running, lab.node.units)
    hidden = a_job(cluster, private, units=1)
    mine = a_job(cluster, lab.training, lab.member, units=1)
    report_queue(cluster)
    view = read_queue(cluster, lab.actor)
    assert [(row.id, row.job is not None) for row in view.waiting] == [(hidden.id, False), (mine.id, True)]
    assert view.running[0].job is not None and view.running[0].job.id == running.id
    assert view.running[0].ends_at is not None
    assert (view.running[0].ends_at - clock()).total_seconds() == 600
    full = read_queue(cluster, actor_of(lab.manager))
    assert [row.job.id if row.job else None for row in full.waiting] == [hidden.id, mine.id]
    reasons = [row.explanation.code for row in full.waiting]
    assert reasons == ["waiting.quota_used", "waiting.ahead_in_queue"]


@pytest.mark.parametrize("seed", range(5))
def test_the_columns_of_the_newest_attempt_are_read_by_those_who_may_read_the_job(
    cluster: Cluster, lab: Lab, seed: int
) -> None:
    chance = random.Random(seed)
    people = [a_user(cluster) for _ in range(5)]
    jobs = []
    for _ in range(3):
        workspace = a_workspace(cluster, chance.choice(people), tuple(chance.sample(people, 2)))
        for _ in range(3):
            visibility = chance.choice(list(Visibility))
            training = a_training(cluster, workspace, chance.choice(people), visibility=visibility)
            named = chance.sample(people, chance.randrange(3))
            add(cluster, *(TrainingMember(training_id=training.id, user_id=one.id) for one in named))
            jobs += [a_job(cluster, training, chance.choice(people)) for _ in range(2)]
    for job in jobs:
        for number in range(1, 1 + chance.randrange(4)):
            times = {"created_at": cluster.clock(), "ended_at": cluster.clock()}
            ended = Attempt(
                job_id=job.id, number=number, node_id=lab.node.id, state=AttemptState.ENDED, **times
            )
            add(cluster, ended)
    ids = [*(job.id for job in jobs), 0, 10**9]
    answers = set()
    for person in [*people, an_administrator(cluster)]:
        actor = actor_of(person)
        allowed = {}
        for job_id in ids:
            try:
                job = queries.read_job(cluster, actor, job_id)
            except NotFound:
                continue
            newest = max((attempt.number for attempt in job.attempts), default=0)
            allowed[job_id] = queries.JobAttempt(job_id, job.workspace_id, newest)
        assert queries.read_newest_attempts(cluster, actor, ids) == allowed
        answers.add(len(allowed))
    assert len(answers) > 1, "everybody may see the same"
    assert queries.read_newest_attempts(cluster, lab.actor, []) == {}


def test_an_attempt_is_read_by_its_number_where_the_job_may_be_seen(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training)
    before = queries.JobAttempt(job.id, job.workspace_id, 0)
    assert queries.read_attempt(cluster, lab.actor, job.id) == before
    times = {"created_at": cluster.clock(), "ended_at": cluster.clock()}
    for number in (1, 2):
        about = {"job_id": job.id, "number": number, "node_id": lab.node.id, "state": AttemptState.ENDED}
        add(cluster, Attempt(**about, **times))
    assert queries.read_attempt(cluster, lab.actor, job.id).number == 2
    assert [queries.read_attempt(cluster, lab.actor, job.id, number).number for number in (1, 2)] == [1, 2]
    for number in (0, 3):
        with pytest.raises(NotFound):
            queries.read_attempt(cluster, lab.actor, job.id, number)
    stranger = actor_of(a_user(cluster))
    for number in (None, 1, 3):
        with pytest.raises(NotFound):
            queries.read_attempt(cluster, stranger, job.id, number)
