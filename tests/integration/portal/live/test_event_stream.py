"""One stream per tab: rings, growing files and beats come through; ended sessions and closed tabs leave."""

import http.client
import json
import socket
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from cluster.domain.states import JobState, TrainingKind, Visibility
from cluster.event_bus import connect_redis
from cluster.services.people import sessions, users
from cluster.services.storage import folders
from portal.layout.theme import stream_start_id
from portal.live.event_stream import BEAT_SECONDS
from portal.live.stream_slots import MAX_STREAMS_PER_PERSON
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, an_administrator, holding
from tests.integration.portal.live.conftest import Live
from tests.integration.worker.executors.conftest import until


class Tab:
    """A browser's EventSource, as far as the server can tell."""

    def __init__(self, live: Live, token: str, topics: str, last_id: str = "", method: str = "GET") -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
        headers = {
            "Cookie": f"gc_session_{live.cluster.settings.port}={token}",
            "Accept": "text/event-stream",
        }
        if last_id:
            headers["Last-Event-ID"] = last_id
        self.connection.request(method, f"/stream?topics={topics}", headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def next(self, *names: str, within: float = 30) -> tuple[str, dict[str, Any], str]:
        """The next event of these names: name, data, id."""
        deadline = time.monotonic() + within
        found: dict[str, str] = {}
        while time.monotonic() < deadline:
            line = self.answer.readline().decode().rstrip("\n")
            if line:
                key, _, value = line.partition(": ")
                found[key] = value
            elif found.get("event") in names:
                return found["event"], json.loads(found["data"]), found.get("id", "")
            else:
                found = {}
        raise AssertionError(f"no {names} within {within} s")

    def close(self) -> None:
        if self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.answer.close()
        self.connection.close()


def status_of(live: Live, token: str, topics: str, method: str = "GET") -> int:
    tab = Tab(live, token, topics, method=method)
    tab.close()
    return tab.status


def doorbell_connections(live: Live) -> int:
    with closing(connect_redis(live.cluster.settings.redis_url)) as connection:
        return sum(client["cmd"] == "xread" for client in connection.client_list())


def wait_until_the_doorbell_is_read(live: Live) -> None:
    """Its thread begins with the process, and again a moment after Redis has come back."""

    def is_read() -> bool:
        try:
            return doorbell_connections(live) == 1
        except redis.RedisError:
            return False

    until(is_read, what="the doorbell is read")


def test_every_tab_hears_what_rings_through_one_connection(live: Live) -> None:
    token = live.token_for(a_user(live.cluster))
    tabs = [Tab(live, token, "jobs,queue") for _ in range(5)]
    for tab in tabs:
        tab.next("beat")
    wait_until_the_doorbell_is_read(live)
    live.cluster.events.publish("nodes", 1)
    live.cluster.events.publish("jobs", 42)
    live.cluster.events.publish("jobs", 42)
    assert [tab.next("jobs", "queue", "nodes")[:2] for tab in tabs] == [("jobs", {"id": 42})] * 5
    assert doorbell_connections(live) == 1
    for tab in tabs:
        tab.close()


def test_a_tab_that_comes_back_hears_what_it_missed(live: Live) -> None:
    token = live.token_for(a_user(live.cluster))
    tab = Tab(live, token, "jobs")
    tab.next("beat")
    wait_until_the_doorbell_is_read(live)
    live.cluster.events.publish("jobs", 1)
    *_, last = tab.next("jobs")
    tab.close()
    live.cluster.events.publish("jobs", 2)
    live.cluster.events.publish("nodes", 3)
    again = Tab(live, token, "jobs", last_id=last)
    assert again.next("jobs")[1] == {"id": 2}
    again.close()
    nonsense = Tab(live, token, "jobs", last_id="; DROP")
    nonsense.next("beat")
    nonsense.close()


def test_a_page_hears_what_rang_before_its_stream_was_open(live: Live) -> None:
    token = live.token_for(a_user(live.cluster))
    since = stream_start_id()
    live.cluster.events.publish("jobs", 7)
    tab = Tab(live, token, f"jobs&since={since}")
    while tab.next("jobs")[1] != {"id": 7}:
        pass  # What rang for other tests a moment before.
    tab.close()


def test_the_server_sees_that_a_tab_is_gone_and_seldom_sends_a_beat(live: Live) -> None:
    tab = Tab(live, live.token_for(a_user(live.cluster)), "jobs")
    assert tab.next("beat")[1] == {"seconds": BEAT_SECONDS}
    tab.close()


def a_running_job(live: Live) -> tuple[Any, Any, Path]:
    cluster = live.cluster
    owner = a_user(cluster)
    workspace = a_workspace(cluster, members=(owner,))
    training = a_training(cluster, workspace, owner, None, TrainingKind.ADVANCED, Visibility.PRIVATE)
    job = a_job(cluster, training, owner, 1, JobState.RUNNING)
    holding(cluster, job, a_node(cluster).units[:1])
    out = folders.attempt_folder(cluster.settings, workspace.id, job.id, 1) / "out"
    out.mkdir(parents=True)
    return owner, job, out


def test_a_jobs_files_are_told_as_they_grow(live: Live) -> None:
    owner, job, out = a_running_job(live)
    log, metrics = out / "rank-0.stdout", out / "metrics.jsonl"
    log.write_bytes(b"hello\n")
    tab = Tab(live, live.token_for(owner), f"jobs,log,metrics,job:{job.id}")
    about = {"job": job.id, "attempt": 1}
    assert tab.next("log")[1] == {**about, "sizes": {"rank-0.stdout": 6}}
    with log.open("ab") as file:
        file.write(b"world\n")
    assert tab.next("log")[1] == {**about, "sizes": {"rank-0.stdout": 12}}
    metrics.write_text('{"step": 1}\n')
    assert tab.next("metrics")[1] == {**about, "size": 12}
    metrics.unlink()
    metrics.symlink_to(live.cluster.settings.state_dir / "database" / "groundcrew.db")
    log.write_bytes(b"anew\n")
    assert tab.next("log", "metrics")[:2] == ("log", {**about, "sizes": {"rank-0.stdout": 5}})
    tab.close()


def test_nobody_watches_a_job_that_they_may_not_see(live: Live) -> None:
    owner, job, _ = a_running_job(live)
    assert status_of(live, live.token_for(a_user(live.cluster)), f"job:{job.id}") == 404
    assert status_of(live, live.token_for(owner), "job:999999") == 404
    assert status_of(live, live.token_for(owner), "secrets") == 422
    assert status_of(live, "no session", "jobs") == 401


@pytest.mark.parametrize("how", ["sign out", "disable"])
def test_the_stream_ends_with_the_session(live: Live, how: str) -> None:
    user = a_user(live.cluster)
    token = live.token_for(user)
    tab = Tab(live, token, "jobs")
    tab.next("beat")
    if how == "sign out":
        sessions.sign_out(live.cluster, token)
    else:
        users.disable_user(live.cluster, actor_of(an_administrator(live.cluster)), user.id)
    tab.next("end")
    assert tab.answer.read() == b""
    tab.close()


def test_a_person_has_so_many_streams_and_gets_them_back(live: Live) -> None:
    user = a_user(live.cluster)
    token = live.token_for(user)
    for _ in range(MAX_STREAMS_PER_PERSON):
        assert status_of(live, token, "jobs", method="HEAD") == 200
    tabs = [Tab(live, token, "jobs") for _ in range(MAX_STREAMS_PER_PERSON)]
    for tab in tabs:
        tab.next("beat")
    assert status_of(live, live.token_for(user), "jobs") == 429, "another session is no other person"
    other = live.token_for(a_user(live.cluster))
    assert status_of(live, other, "jobs") == 200, "another person has places of their own"
    for tab in tabs:
        tab.close()
    deadline = time.monotonic() + 60
    while status_of(live, token, "jobs") != 200:
        assert time.monotonic() < deadline, "tabs that left still hold their places"
        time.sleep(0.5)


def test_without_redis_files_and_beats_still_come_and_rings_come_back(lone_live: Live) -> None:
    live = lone_live
    owner, job, out = a_running_job(live)
    path = live.cluster.settings.redis_url.removeprefix("unix://")
    with closing(connect_redis(live.cluster.settings.redis_url)) as client, pytest.raises(redis.RedisError):
        client.execute_command("SHUTDOWN", "NOSAVE")
        client.ping()
    tab = Tab(live, live.token_for(owner), f"jobs,job:{job.id}")
    tab.next("beat")
    (out / "rank-0.stdout").write_bytes(b"alone\n")
    assert tab.next("log")[1]["sizes"] == {"rank-0.stdout": 6}
    switches = ["--port", "0", "--unixsocket", path, "--save", "", "--dir", str(Path(path).parent)]
    server = subprocess.Popen(["redis-server", *switches], stdout=subprocess.DEVNULL)
    try:
        wait_until_the_doorbell_is_read(live)
        live.cluster.events.publish("jobs", 7)
        assert tab.next("jobs")[1] == {"id": 7}
    finally:
        tab.close()
        server.kill()
        server.wait()


def test_five_hundred_streams_of_one_person_leave_everybody_else_theirs(live: Live) -> None:
    """A refusal costs little, and the places come back although nobody has read a line of their streams."""
    greedy, other = a_user(live.cluster), a_running_job(live)
    (other[2] / "rank-0.stdout").write_bytes(b"hello\n")
    tokens = [live.token_for(greedy) for _ in range(5)]
    tabs = [Tab(live, token, "jobs,queue") for token in tokens for _ in range(100)]
    statuses = Counter(tab.status for tab in tabs)
    assert statuses == {200: MAX_STREAMS_PER_PERSON, 429: 500 - MAX_STREAMS_PER_PERSON}
    tab = Tab(live, live.token_for(other[0]), f"job:{other[1].id}")
    assert tab.next("log")[1]["sizes"] == {"rank-0.stdout": 6}
    for each in (tab, *tabs):
        each.close()
    until(lambda: status_of(live, live.token_for(greedy), "jobs") == 200, what="the places are free")


def test_the_service_logs_json_without_secrets_and_ends_its_streams_when_it_stops(lone_live: Live) -> None:
    live = lone_live
    user = a_user(live.cluster)
    token = live.token_for(user)
    tab = Tab(live, token, "jobs&since=0-0")
    tab.next("beat")
    live.process.terminate()
    assert tab.answer.read() == b"", "it ends in order, without the end of the session"
    live.process.wait(60)
    tab.close()
    lines = [json.loads(line) for line in live.log.read_text().splitlines() if line.startswith("{")]
    (line,) = (line for line in lines if line.get("route") == "/stream")
    assert (line["event"], line["status"], line["user"]) == ("request", 200, user.name)
    assert len(line["request_id"]) == 16 and line["seconds"] > 0
    assert token not in live.log.read_text()
