"""A person's streams take that person's places alone, and each of them is given back."""

import json
import threading
from typing import Any

import pytest
from flask import Flask

from cluster.domain.states import JobState, Visibility
from cluster.event_bus import BusEvent
from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from cluster.store.trainings import Training
from cluster.store.users import User
from portal.live import event_stream
from portal.live.event_hub import EventHub, TabQueue
from portal.live.event_stream import TabStream
from portal.live.file_watcher import FileWatcher
from portal.live.session_checks import SessionChecks
from portal.live.stream_slots import MAX_STREAMS_PER_PERSON, StreamSlots
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, add, holding
from tests.pages.portal.stream_lab import browser, opened, taken


def test_a_hundred_streams_of_one_person_leave_the_others_theirs(app: Flask, light_cluster: Cluster) -> None:
    greedy, other = a_user(light_cluster), a_user(light_cluster)
    clients = [browser(app, greedy) for _ in range(20)]
    answers = [opened(client) for client in clients for _ in range(5)]
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (
        MAX_STREAMS_PER_PERSON,
        100 - MAX_STREAMS_PER_PERSON,
    )
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.headers["Retry-After"] == "30"
    assert refused.text.startswith(f"You have {MAX_STREAMS_PER_PERSON} live pages open")
    heard = opened(browser(app, other))
    assert heard.status_code == 200
    for answer in [*answers, heard]:
        answer.close()
    assert taken(app) == 0


def test_a_stream_that_nobody_reads_gives_its_place_back(app: Flask, light_cluster: Cluster) -> None:
    """The client was gone before its answer began."""
    user = a_user(light_cluster)
    for _ in range(3 * MAX_STREAMS_PER_PERSON):
        answer = opened(browser(app, user))
        assert answer.status_code == 200
        answer.close()
    assert taken(app) == 0


class WatchedStream:
    """A stream of one job, of which a test takes the events one by one. It looks at the files whenever it would wait,
    checks rights only when an event makes it, and ends once there is nothing left to send."""

    def __init__(self, cluster: Cluster, user: User, job_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(event_stream, "CHECK_SECONDS", 1e6)
        monkeypatch.setattr(event_stream, "wait_for_events", self.next_event)
        self.tab = TabQueue()
        self.watcher = FileWatcher(cluster.settings.storage_dir)
        self.watcher.thread = threading.current_thread()
        token = sessions.begin_session(cluster, user.id, "192.0.2.1", "a test")
        hub, checks = EventHub(cluster.settings.redis_url), SessionChecks(cluster)
        about = cluster, actor_of(user), token, hub, checks, self.watcher
        self.stream = TabStream(*about, topics=frozenset(), job_ids=(job_id,))
        self.is_over = False
        self.events = self.stream.listen(self.tab, StreamSlots(lambda: self.is_over))

    def next_event(self, listener: TabQueue, _seconds: float) -> list[BusEvent]:
        self.watcher.look()
        if listener.events.empty():
            self.is_over = True
            return []
        event = listener.events.get_nowait()
        return [event] if event else []

    def next(self) -> tuple[str, dict[str, Any]]:
        while "event: beat" in (text := next(self.events)):
            pass
        name, data = text.removeprefix("event: ").removesuffix("\n\n").split("\ndata: ")
        return name, json.loads(data)

    def publish(self, topic: str, row_id: int) -> None:
        self.tab.events.put(BusEvent("1-1", topic, row_id, "a test"))


@pytest.fixture
def hidden_job(light_cluster: Cluster) -> tuple[User, Job]:
    """A running job of a training that its owner is about to hide, and a member who may see it until then."""
    owner, member = a_user(light_cluster), a_user(light_cluster)
    workspace = a_workspace(light_cluster, members=(owner, member))
    job = a_job(light_cluster, a_training(light_cluster, workspace, owner), owner, 1, JobState.RUNNING)
    holding(light_cluster, job, a_node(light_cluster).units[:1])
    return member, job


def write_log(cluster: Cluster, job: Job, attempt: int, text: str) -> None:
    out = folders.attempt_folder(cluster.settings, job.workspace_id, job.id, attempt) / "out"
    out.mkdir(parents=True, exist_ok=True)
    (out / "rank-0.stdout").write_text(text)


@pytest.mark.parametrize("topic", ["trainings", "workspaces", "users"])
def test_who_loses_the_right_to_a_job_hears_no_more_of_its_files(
    light_cluster: Cluster, hidden_job: tuple[User, Job], topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, job = hidden_job
    write_log(light_cluster, job, 1, "hello\n")
    watched = WatchedStream(light_cluster, member, job.id, monkeypatch)
    assert watched.next() == ("log", {"job": job.id, "attempt": 1, "sizes": {"rank-0.stdout": 6}})
    with light_cluster.store.write() as session:
        session.get_one(Training, job.training_id).visibility = Visibility.PRIVATE
    write_log(light_cluster, job, 1, "a secret\n")
    watched.publish(topic, 1)
    with pytest.raises(StopIteration):
        watched.next()
    assert not watched.watcher.subscriptions


def test_a_new_attempt_is_followed_as_soon_as_its_job_is_published(
    light_cluster: Cluster, hidden_job: tuple[User, Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    member, job = hidden_job
    write_log(light_cluster, job, 1, "hello\n")
    watched = WatchedStream(light_cluster, member, job.id, monkeypatch)
    assert watched.next()[1]["attempt"] == 1
    with light_cluster.store.write() as session:
        first = session.query(Attempt).filter_by(job_id=job.id).one()
        first.ended_at, node_id = light_cluster.clock(), first.node_id
    add(light_cluster, Attempt(job_id=job.id, number=2, node_id=node_id, created_at=light_cluster.clock()))
    write_log(light_cluster, job, 2, "again\n")
    watched.publish("jobs", job.id)
    assert watched.next() == ("log", {"job": job.id, "attempt": 2, "sizes": {"rank-0.stdout": 6}})
    assert len(watched.watcher.subscriptions) == 1
    assert list(watched.events) == []
    assert not watched.watcher.subscriptions


def test_other_jobs_do_not_make_a_stream_check_its_own(
    light_cluster: Cluster, hidden_job: tuple[User, Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    member, job = hidden_job
    stream = WatchedStream(light_cluster, member, job.id, monkeypatch).stream
    cases = {("jobs", job.id): True, ("jobs", 0): True, ("jobs", job.id + 1): False, ("queue", job.id): False}
    for (topic, row_id), checks in cases.items():
        assert stream.may_change_watched_jobs(BusEvent("1-1", topic, row_id, "a test")) == checks, topic
