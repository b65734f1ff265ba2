"""The queue's page: places of a long line in words, filters with a way out, the same work however long it is."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import unescape

import pytest
from sqlalchemy import event, insert, update

from cluster.domain.states import DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.leases import acquire_lease
from cluster.services.queue.queries import QueueFilters, read_queue
from cluster.services.queue.running_jobs import NO_KNOWN_END
from cluster.services.queue.totals import refresh_queue_totals
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from portal.web.queue_params import format_queue_cursor, parse_queue_cursor
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, first_positions, holding
from tests.conftest import Clock
from tests.pages.portal.pages_lab import Lab
from tests.queue_reports import report_queue

LONG = 1_300
TAGS = re.compile(r"<[^>]+>")


def many(cluster: Cluster, training: Training, count: int) -> list[int]:
    """Ids of so many more waiting jobs, in the order of their line."""
    row = {
        "workspace_id": training.workspace_id, "training_id": training.id, "user_id": training.owner_id,
        "name": "many", "state": JobState.WAITING, "desired": DesiredState.RUN, "units": 1, "priority": 0,
        "launcher": Launcher.PLAIN, "command": [], "variables": {}, "submitted_at": cluster.clock(),
        "time_limit_seconds": 600,
    }  # fmt: skip
    with cluster.store.write() as session:
        before = session.query(Job.id).order_by(Job.id.desc()).limit(1).scalar() or 0
        session.execute(insert(Job), [row for _ in range(count)])
        session.execute(update(Job).where(Job.position == 0).values(position=first_positions()))
    return list(range(before + 1, before + count + 1))


@pytest.fixture
def line(lab: Lab) -> list[int]:
    """A long line behind a job with a time limit, counted as the scheduler does."""
    lab.a_running_job(units=2, time_limit_seconds=3600)
    ids = many(lab.cluster, lab.own_code, LONG)
    held = acquire_lease(lab.cluster, "scheduler", "one", timedelta(seconds=10))
    assert held
    refresh_queue_totals(lab.cluster, held)
    report_queue(lab.cluster)
    return ids


def row_of(html: str, job_id: int) -> str:
    """What the job's row of the queue says, without tags."""
    rows = [row for row in html.split("<tr")[1:] if f'/jobs/{job_id}"' in row]
    assert rows, f"job-{job_id} stands on no row"
    return " ".join(unescape(TAGS.sub(" ", rows[0].partition(">")[2])).split())


def place_of(lab: Lab, job_id: int) -> str:
    """The address of the page that begins with it."""
    with lab.cluster.store.read() as session:
        before = session.get(Job, job_id - 1)
        is_first = before is None or before.state is not JobState.WAITING
        after = "" if is_first or before is None else f"&after={before.position}.{before.id}"
    return f"/queue?workspace={lab.workspace.id}{after}"


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_rows_of_a_long_line_have_a_number_and_a_name(lab: Lab, line: list[int], language: str) -> None:
    browser = lab.browser(lab.seoyeon, language)
    head, second_hundredth, following, last = (line[n] for n in (0, 199, 200, LONG - 1))
    said = {}
    for job_id in (head, second_hundredth, following, last):
        row = said[job_id] = row_of(browser.get(place_of(lab, job_id)).text, job_id)
        sentence = row.partition("vision")[2]
        assert re.search(r"\d", sentence), row
        assert re.search(r"job-\d+", sentence), row
    assert re.search(r"\b199\b|199건", said[second_hundredth]), said
    assert re.search(r"\b200\b|200건", said[following]), said
    assert re.search(r"\d\d:\d\d", said[following].partition("vision")[2]), "a range is told behind the 200th"
    for text in said.values():
        exactly = [
            found.start()
            for found in re.finditer(r"1,000", text)
            if not text[: found.start()].endswith(("More than ", "more than "))
            and not text[found.end() :].startswith(("+", "건보다 많", "건 넘"))
        ]
        assert not exactly, text
    assert ("More than 1,000" in said[last]) or ("1,000건보다 많" in said[last])


def test_pages_say_when_the_scheduler_does_not_answer(lab: Lab, line: list[int]) -> None:
    assert isinstance(lab.cluster.clock, Clock)
    browser = lab.browser(lab.seoyeon)
    paths = ("/queue", f"/jobs/{line[0]}")
    assert not any("does not answer" in browser.get(path).text for path in paths)
    lab.cluster.clock.move(minutes=1)
    for path in paths:
        text = unescape(TAGS.sub("", browser.get(path).text))
        assert "The scheduler does not answer" in text and "expected starts are those of 14:00" in text


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_last_jobs_own_page_says_the_same(lab: Lab, line: list[int], language: str) -> None:
    html = lab.browser(lab.seoyeon, language).get(f"/jobs/{line[-1]}").text
    text = " ".join(unescape(TAGS.sub(" ", html)).split())
    assert ("More than 1,000" in text) if language == "en" else ("1,000건보다 많" in text)
    assert f"job-{line[0]}" in text


def test_each_state_is_shown_alone_and_nothing_found_has_a_way_out(lab: Lab) -> None:
    running = lab.a_running_job(units=2)
    waiting = a_job(lab.cluster, lab.own_code)
    held = a_job(lab.cluster, lab.own_code, held_at=lab.cluster.clock(), held_by=lab.manager.id)
    browser = lab.browser(lab.seoyeon)

    def shown(query: str) -> set[int]:
        html = browser.get(f"/queue?{query}").text
        return {job.id for job in (running, waiting, held) if f'href="/jobs/{job.id}"' in html}

    assert shown("") == {running.id, waiting.id, held.id}
    assert shown("state=waiting") == {waiting.id}
    assert shown("state=held") == {held.id}
    assert shown("state=running") == {running.id}
    assert shown(f"state=running&user={lab.minjun.id}") == set()
    assert shown(f"user={lab.seoyeon.id}") == {running.id, waiting.id, held.id}
    empty = browser.get(f"/queue?state=running&user={lab.minjun.id}").text
    assert "No running job matches" in empty and 'href="/queue">Clear filters' in empty
    assert "No job that waits matches" in browser.get(f"/queue?state=held&user={lab.minjun.id}").text
    assert browser.get("/queue?state=asleep").status_code == 422
    assert "Clear filters" not in browser.get(f"/queue?open={waiting.id}").text


def test_a_reason_of_one_person_shows_no_others(lab: Lab) -> None:
    lab.a_running_job(units=2)
    a_job(lab.cluster, lab.own_code, lab.minjun)
    other = a_training(lab.cluster, a_workspace(lab.cluster, lab.seoyeon, units=2), lab.seoyeon)
    mine = a_job(lab.cluster, other, lab.seoyeon)
    browser = lab.browser(lab.seoyeon)
    found = re.findall(r'href="/queue\?reason=([a-z._]+)"', browser.get("/queue").text)
    assert found
    pages = [browser.get(f"/queue?state=waiting&user={lab.seoyeon.id}&reason={code}").text for code in found]
    shown = {int(job) for page in pages for job in re.findall(r'href="/jobs/(\d+)"', page)}
    assert shown == {mine.id}


def test_whose_hidden_jobs_are_is_not_told_by_a_filter(lab: Lab) -> None:
    lab.a_running_job(units=2)
    a_job(lab.cluster, lab.private, lab.seoyeon)
    browser = lab.browser(lab.minjun)
    assert "a job that you may not see" in browser.get("/queue").text
    assert "a job that you may not see" not in browser.get(f"/queue?user={lab.seoyeon.id}").text


def test_running_jobs_come_page_by_page(lab: Lab) -> None:
    jobs = [lab.a_running_job() for _ in range(2)]
    browser = lab.browser(lab.seoyeon)
    behind = browser.get(f"/queue?state=running&run={NO_KNOWN_END}.{jobs[0].id}").text
    assert f'href="/jobs/{jobs[1].id}"' in behind and f'href="/jobs/{jobs[0].id}"' not in behind
    assert "To the front" in behind


@contextmanager
def counted(cluster: Cluster) -> Iterator[list[str]]:
    said: list[str] = []

    def hear(_c: object, _cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    event.listen(cluster.store.engine, "before_cursor_execute", hear)
    yield said
    event.remove(cluster.store.engine, "before_cursor_execute", hear)


def test_a_page_costs_as_many_statements_and_bytes_however_long_the_queue_is(lab: Lab) -> None:
    """Workspaces stay the same: each of them is a line whose front is looked at."""
    running = lab.a_running_job(time_limit_seconds=3600)
    others = [a_training(lab.cluster, a_workspace(lab.cluster, lab.manager, units=1)) for _ in range(5)]
    browser, costs = lab.browser(lab.administrator), []
    for count in (12, 400):
        for training in others:
            many(lab.cluster, training, count)
        report_queue(lab.cluster)
        browser.get("/queue")
        with counted(lab.cluster) as said:
            page = browser.get("/queue")
        costs.append((len(said), round(len(page.data), -4)))
    assert costs[0] == costs[1]
    assert costs[0][0] <= 30, "a statement for each row, or a connection for each read, would be seen here"
    assert running.id and sum(statement.startswith("BEGIN") for statement in said) <= 14


def test_a_page_reads_over_one_connection(lab: Lab) -> None:
    made: list[object] = []
    event.listen(lab.cluster.store.engine, "connect", lambda connection, _: made.append(connection))
    browser = lab.browser(lab.administrator)
    made.clear()
    assert browser.get("/queue").status_code == 200
    assert len(made) == 1


def test_the_next_page_of_what_runs_begins_where_the_last_one_ended_also_when_that_job_has_ended(
    lab: Lab,
) -> None:
    node = a_node(lab.cluster, 3, name="cpu02")
    jobs = []
    for unit, seconds in zip(node.units, (1800, 1200, None), strict=True):
        began = {"started_at": lab.cluster.clock(), "time_limit_seconds": seconds}
        jobs.append(a_job(lab.cluster, lab.lenet, state=JobState.RUNNING, **began))
        holding(lab.cluster, jobs[-1], [unit])

    def page(place: str) -> tuple[list[int], str | None]:
        wanted = QueueFilters(state="running", limit=2, after_run=parse_queue_cursor(place))
        view = read_queue(lab.cluster, actor_of(lab.seoyeon), wanted)
        return [run.id for run in view.running], format_queue_cursor(view.next_after_run)

    shown, behind = page("")
    assert shown == [jobs[1].id, jobs[0].id] and behind is not None
    lab.ended(jobs[0], "job.cancelled")
    assert page(behind) == ([jobs[2].id], None)


@pytest.mark.parametrize("path", ["/queue", "/"])
def test_the_sentence_in_the_head_follows_what_is_shown_below_it(lab: Lab, path: str) -> None:
    lab.a_running_job()
    browser = lab.browser(lab.administrator)
    whole = browser.get(path).text
    assert whole.count('id="page-truth"') == 1 and "1 job runs" in whole
    lab.a_running_job()
    fragment = browser.get(path, headers={"HX-Request": "true"}).text
    assert re.search(r'<p id="page-truth" hx-swap-oob="innerHTML">.*2 jobs run', fragment)
