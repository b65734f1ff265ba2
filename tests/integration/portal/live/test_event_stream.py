"""One stream per tab: rings, growing files and beats come through; ended sessions and closed tabs leave."""

import http.client
import json
import socket
import subprocess
import time
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
from portal.live.stream_slots import MAX_STREAMS_PER_PERSON
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, an_administrator, holding
from tests.integration.portal.conftest import Portal
from tests.integration.worker.executors.conftest import until


class Tab:
    """A browser's EventSource, as far as the server can tell."""

    def __init__(
        self, portal: Portal, token: str, topics: str, last_id: str = "", method: str = "GET"
    ) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", portal.port, timeout=60)
        headers = {"Cookie": f"gc_session_{portal.port}={token}", "Accept": "text/event-stream"}
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


def status_of(portal: Portal, token: str, topics: str, method: str = "GET") -> int:
    tab = Tab(portal, token, topics, method=method)
    tab.close()
    return tab.status


def doorbell_connections(portal: Portal) -> int:
    with closing(connect_redis(portal.cluster.settings.redis_url)) as connection:
        return sum(client["cmd"] == "xread" for client in connection.client_list())


def wait_until_the_doorbell_is_read(portal: Portal) -> None:
    """The thread that reads it begins with the first tab, a moment after that tab's first beat."""
    until(lambda: doorbell_connections(portal), what="the doorbell is read")


def test_every_tab_hears_what_rings_through_one_connection(portal: Portal) -> None:
    token = portal.token_for(a_user(portal.cluster))
    tabs = [Tab(portal, token, "jobs,queue") for _ in range(5)]
    for tab in tabs:
        tab.next("beat")
    wait_until_the_doorbell_is_read(portal)
    portal.cluster.events.publish("nodes", 1)
    portal.cluster.events.publish("jobs", 42)
    portal.cluster.events.publish("jobs", 42)
    assert [tab.next("jobs", "queue", "nodes")[:2] for tab in tabs] == [("jobs", {"id": 42})] * 5
    assert doorbell_connections(portal) == 1
    for tab in tabs:
        tab.close()


def test_a_tab_that_comes_back_hears_what_it_missed(portal: Portal) -> None:
    token = portal.token_for(a_user(portal.cluster))
    tab = Tab(portal, token, "jobs")
    tab.next("beat")
    wait_until_the_doorbell_is_read(portal)
    portal.cluster.events.publish("jobs", 1)
    *_, last = tab.next("jobs")
    tab.close()
    portal.cluster.events.publish("jobs", 2)
    portal.cluster.events.publish("nodes", 3)
    again = Tab(portal, token, "jobs", last_id=last)
    assert again.next("jobs")[1] == {"id": 2}
    again.close()
    nonsense = Tab(portal, token, "jobs", last_id="; DROP")
    nonsense.next("beat")
    nonsense.close()


def test_a_page_hears_what_rang_before_its_stream_was_open(portal: Portal) -> None:
    token = portal.token_for(a_user(portal.cluster))
    since = stream_start_id()
    portal.cluster.events.publish("jobs", 7)
    tab = Tab(portal, token, f"jobs&since={since}")
    while tab.next("jobs")[1] != {"id": 7}:
        pass  # What rang for other tests a moment before.
    tab.close()


def test_a_beat_comes_at_least_every_ten_seconds(portal: Portal) -> None:
    tab = Tab(portal, portal.token_for(a_user(portal.cluster)), "jobs")
    tab.next("beat")
    tab.next("beat", within=10)
    tab.close()


def a_running_job(portal: Portal) -> tuple[Any, Any, Path]:
    cluster = portal.cluster
    owner = a_user(cluster)
    workspace = a_workspace(cluster, members=(owner,))
    training = a_training(cluster, workspace, owner, None, TrainingKind.ADVANCED, Visibility.PRIVATE)
    job = a_job(cluster, training, owner, 1, JobState.RUNNING)
    holding(cluster, job, a_node(cluster).units[:1])
    out = folders.attempt_folder(cluster.settings, workspace.id, job.id, 1) / "out"
    out.mkdir(parents=True)
    return owner, job, out


def test_a_jobs_files_are_told_as_they_grow(portal: Portal) -> None:
    owner, job, out = a_running_job(portal)
    log, metrics = out / "rank-0.stdout", out / "metrics.jsonl"
    log.write_bytes(b"hello\n")
    tab = Tab(portal, portal.token_for(owner), f"jobs,log,metrics,job:{job.id}")
    about = {"job": job.id, "attempt": 1}
    assert tab.next("log")[1] == {**about, "sizes": {"rank-0.stdout": 6}}
    with log.open("ab") as file:
        file.write(b"world\n")
    assert tab.next("log")[1] == {**about, "sizes": {"rank-0.stdout": 12}}
    metrics.write_text('{"step": 1}\n')
    assert tab.next("metrics")[1] == {**about, "size": 12}
    metrics.unlink()
    metrics.symlink_to(portal.cluster.settings.state_dir / "database" / "groundcrew.db")
    with pytest.raises(AssertionError):
        tab.next("metrics", within=2)
    tab.close()


def test_nobody_watches_a_job_that_they_may_not_see(portal: Portal) -> None:
    owner, job, _ = a_running_job(portal)
    assert status_of(portal, portal.token_for(a_user(portal.cluster)), f"job:{job.id}") == 404
    assert status_of(portal, portal.token_for(owner), "job:999999") == 404
    assert status_of(portal, portal.token_for(owner), "secrets") == 422
    assert status_of(portal, "no session", "jobs") == 401


@pytest.mark.parametrize("how", ["sign out", "disable"])
def test_the_stream_ends_with_the_session(portal: Portal, how: str) -> None:
    user = a_user(portal.cluster)
    token = portal.token_for(user)
    tab = Tab(portal, token, "jobs")
    tab.next("beat")
    if how == "sign out":
        sessions.sign_out(portal.cluster, token)
    else:
        users.disable_user(portal.cluster, actor_of(an_administrator(portal.cluster)), user.id)
    tab.next("end")
    assert tab.answer.read() == b""
    tab.close()


def test_a_person_has_so_many_streams_and_gets_them_back(portal: Portal) -> None:
    user = a_user(portal.cluster)
    token = portal.token_for(user)
    for _ in range(MAX_STREAMS_PER_PERSON):
        assert status_of(portal, token, "jobs", method="HEAD") == 200
    tabs = [Tab(portal, token, "jobs") for _ in range(MAX_STREAMS_PER_PERSON)]
    for tab in tabs:
        tab.next("beat")
    assert status_of(portal, portal.token_for(user), "jobs") == 429, "another session is no other person"
    other = portal.token_for(a_user(portal.cluster))
    assert status_of(portal, other, "jobs") == 200, "another person has places of their own"
    for tab in tabs:
        tab.close()
    deadline = time.monotonic() + 60
    while status_of(portal, token, "jobs") != 200:
        assert time.monotonic() < deadline, "tabs that left still hold their places"
        time.sleep(0.5)


def test_without_redis_files_and_beats_still_come_and_rings_come_back(lone_portal: Portal) -> None:
    portal = lone_portal
    owner, job, out = a_running_job(portal)
    path = portal.cluster.settings.redis_url.removeprefix("unix://")
    with closing(connect_redis(portal.cluster.settings.redis_url)) as client, pytest.raises(redis.RedisError):
        client.execute_command("SHUTDOWN", "NOSAVE")
        client.ping()
    tab = Tab(portal, portal.token_for(owner), f"jobs,job:{job.id}")
    tab.next("beat")
    (out / "rank-0.stdout").write_bytes(b"alone\n")
    assert tab.next("log")[1]["sizes"] == {"rank-0.stdout": 6}
    switches = ["--port", "0", "--unixsocket", path, "--save", "", "--dir", str(Path(path).parent)]
    server = subprocess.Popen(["redis-server", *switches], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            portal.cluster.events.publish("jobs", 7)
            try:
                assert tab.next("jobs", within=1)[1] == {"id": 7}
                break
            except (AssertionError, TimeoutError):
                continue
        else:
            raise AssertionError("the doorbell did not come back")
    finally:
        tab.close()
        server.kill()
        server.wait()


def test_ordinary_requests_are_answered_while_many_tabs_listen(portal: Portal) -> None:
    tabs = []
    for _ in range(8):
        token = portal.token_for(a_user(portal.cluster))
        tabs += [Tab(portal, token, "jobs,queue") for _ in range(10)]
    for tab in tabs:
        tab.next("beat")
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", portal.port, timeout=20)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    assert time.monotonic() - started < 10
    connection.close()
    for tab in tabs:
        tab.close()


def test_the_portal_logs_json_without_secrets_and_stops_in_time(lone_portal: Portal) -> None:
    portal = lone_portal
    token = portal.token_for(a_user(portal.cluster))
    tab = Tab(portal, token, "jobs")
    tab.next("beat")
    started = time.monotonic()
    portal.process.terminate()
    portal.process.wait(60)
    assert time.monotonic() - started < 20
    tab.close()
    lines = [json.loads(line) for line in portal.log.read_text().splitlines() if line.startswith("{")]
    assert any(line.get("route") == "/health" for line in lines)
    assert token not in portal.log.read_text()
