"""Every page says the same of one thing: values are marked `data-fact="job:12:state"`, and all pages are compared."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import DatasetState, GitCredential, JobState, UserRole
from cluster.services.context import Cluster
from cluster.services.jobs import submission
from cluster.services.people import sessions
from cluster.services.storage import folders
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Job, Notebook
from cluster.store.repairs import RepairRun
from cluster.store.trainings import CodeVersion, GitSource, Training
from cluster.store.workspaces import Workspace
from tests.builders import a_dataset, a_job, a_user, actor_of, add, an_administrator
from tests.pages.portal.filled_portal import House
from tests.pages.portal.pages_lab import metric_row
from tests.queue_reports import report_queue

MOST_PAGES = 400
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
FETCHED = re.compile(r"^/(?!static|api|sign-out|assets)")


@dataclass
class Marked:
    key: str
    value: str | None
    """Given by the mark itself, where the value stands in a sentence."""
    depth: int
    text: list[str] = field(default_factory=list)
    moment: str | None = None

    def read(self) -> str:
        text = " ".join("".join(self.text).split())
        if self.value is None:
            return self.moment or text
        assert self.value in text or self.value == "0", (
            f"{self.key} is {self.value}, and the page says {text!r}"
        )
        return self.value


class FactReader(HTMLParser):
    """The marked values of one page, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.open: list[Marked] = []
        self.facts: list[tuple[str, str]] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        if tag == "time":
            for mark in self.open:
                mark.moment = given.get("datetime")
        if tag in VOID:
            return
        self.depth += 1
        if key := given.get("data-fact"):
            self.open.append(Marked(key, given.get("data-value"), self.depth))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self.open and self.open[-1].depth == self.depth:
            mark = self.open.pop()
            self.facts.append((mark.key, mark.read()))
        self.depth -= 1

    def handle_data(self, data: str) -> None:
        for mark in self.open:
            mark.text.append(data)


@dataclass
class Crawl:
    """Values by fact, with the addresses that show each; and the endpoints on which a kind of fact stands."""

    values: dict[str, dict[str, list[str]]]
    endpoints: dict[str, set[str]]
    addresses: set[str]

    def contradictions(self) -> dict[str, dict[str, list[str]]]:
        return {key: found for key, found in self.values.items() if len(found) > 1}

    def lonely_kinds(self) -> dict[str, set[str]]:
        return {kind: found for kind, found in self.endpoints.items() if len(found) < 2}


def kind_of(key: str) -> str:
    """`job:state` of `job:12:state`."""
    thing, _, name = key.split(":")
    return f"{thing}:{name}"


def crawl(browser: FlaskClient) -> Crawl:
    """Opens every page that links lead to, from the home page on."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    endpoints: dict[str, set[str]] = defaultdict(set)
    waiting, seen = ["/"], {"/"}
    while waiting and len(seen) < MOST_PAGES:
        address = waiting.pop(0)
        answer = browser.get(address)
        if answer.mimetype != "text/html" or answer.status_code != 200:
            continue
        reader = FactReader()
        reader.feed(answer.get_data(as_text=True))
        for key, value in reader.facts:
            values[key][value].append(address)
            endpoints[kind_of(key)].add(endpoint_of(browser, address))
        for link in new_links(reader.links, address, seen):
            seen.add(link)
            waiting.append(link)
    return Crawl(values, endpoints, seen)


def endpoint_of(browser: FlaskClient, address: str) -> str:
    adapter = browser.application.url_map.bind("localhost")
    return adapter.match(urlsplit(address).path)[0]


def new_links(links: Iterable[str], address: str, seen: set[str]) -> list[str]:
    """Of this portal, and no downloads: each once."""
    found = []
    for link in links:
        parts = urlsplit(urljoin(f"http://localhost{address}", link))
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        is_ours = parts.netloc == "localhost" and FETCHED.match(path) and "format=csv" not in path
        if is_ours and path not in seen and path not in found:
            found.append(path)
    return found


def fill(house: House) -> None:
    """Jobs of all states, also in a long line; data sets that are not ready; an ended repair; what a workshop has."""
    cluster, now, owner = house.cluster, house.cluster.clock(), house.people["owner"]
    with cluster.store.read() as session:
        lenet = session.scalars(select(Training).where(Training.name == "lenet")).one()
        idea = session.scalars(select(Training).where(Training.name == "idea")).one()
        run = session.scalars(select(RepairRun)).one()
        workspace = session.get_one(Workspace, lenet.workspace_id)
    add(cluster, Environment(name="default", digest="d", state="ready", created_at=now))
    add(cluster, InstallationFact(name="default_environment", value={"digest": "d"}))
    for state, code in (
        (JobState.FINISHED, "exit.finished"),
        (JobState.FAILED, "exit.failed"),
        (JobState.STOPPED, None),
    ):
        a_job(
            cluster, lenet, owner, state=state, fence=1, started_at=now - timedelta(minutes=9, seconds=7),
            dispatched_at=now - timedelta(minutes=10), submitted_at=now - timedelta(minutes=30),
            ended_at=now - timedelta(minutes=2), end_code=code, end_data={"exit_code": 1},
            exit_code=1 if state is JobState.FAILED else 0, storage_bytes=1_234_567,
        )  # fmt: skip
    a_dataset(cluster, workspace, "late", state=DatasetState.PREPARING)
    for units in (2, 1, 2):
        a_job(
            cluster,
            lenet,
            owner,
            units=units,
            time_limit_seconds=1200,
            submitted_at=now - timedelta(minutes=4),
        )
    actor = actor_of(owner)
    submission.submit_job(cluster, actor, idea.id, JobRequest("last", 1, command=("train.py",)))
    with cluster.store.write() as session:
        session.get_one(Training, idea.id).code_version = 2
        row = session.get_one(RepairRun, run.id)
        row.started_at, row.ended_at = now - timedelta(seconds=30), now
        row.verdict = RepairVerdict.VERIFIED
    fill_workshop(house)
    report_queue(cluster)


def fill_workshop(house: House) -> None:
    """An environment in use, a commit that was fetched, and a notebook that nobody uses."""
    now, owner = house.cluster.clock(), house.people["owner"]
    with house.cluster.store.write() as session:
        idea = session.get_one(Training, house.ids["training_id"])
        idea.environment_id = house.ids["environment_id"]
        session.get_one(Environment, house.ids["environment_id"]).size_bytes = 734_003_200
        version = session.get_one(CodeVersion, (idea.id, 1))
        version.commit_id, version.commit_author, version.commit_subject = "4be2d71" * 6, "seoyeon", "Adam"
        source = GitSource(
            training_id=idea.id,
            url="https://git.example/lab/idea.git",
            credential=GitCredential.NONE,
            set_by=owner.id,
            set_at=now,
            found_version=1,
        )
        session.add(source)
        session.get_one(Notebook, house.ids["job_id"]).stops_at = now + timedelta(minutes=5)


def begin_epochs(house: House) -> Path:
    """Its metrics. The running job has done five epochs of ten; its time limit ends it before the others are done."""
    now, job_id = house.cluster.clock(), house.ids["job_id"]
    with house.cluster.store.write() as session:
        job = session.get_one(Job, job_id)
        job.time_limit_seconds = 900
        (attempt,) = job.attempts
        attempt.progress = 0.5
        attempt.earliest_end_at, attempt.latest_end_at = now + timedelta(hours=1), now + timedelta(hours=3)
        attempt.expected_end_at = now + timedelta(hours=2)
        out = folders.attempt_folder(house.cluster.settings, job.workspace_id, job.id, 1) / "out"
    (out / "metrics.jsonl").write_text(metric_row(1, 5.0, now.timestamp(), epochs=10.0))
    return out / "metrics.jsonl"


@pytest.fixture
def busy(house: House) -> Iterator[House]:
    fill(house)
    metrics = begin_epochs(house)
    yield house
    metrics.unlink()


def assert_one_truth(found: Crawl) -> None:
    assert found.contradictions() == {}
    assert len(found.values) > 60, sorted(found.values)


def test_no_two_pages_of_a_busy_installation_contradict_each_other_before_a_member(busy: House) -> None:
    assert_one_truth(crawl(busy.visitor("member")))


def test_no_two_pages_contradict_each_other_before_others_and_each_kind_of_fact_stands_on_two(
    busy: House,
) -> None:
    """Each kind stands on two pages or more of the administrator's and the owner's together."""
    found, owner = crawl(busy.visitor("administrator")), crawl(busy.visitor("owner"))
    assert_one_truth(found)
    assert_one_truth(owner)
    for kind, endpoints in owner.endpoints.items():
        found.endpoints[kind] |= endpoints
    assert found.lonely_kinds() == {}
    assert len(found.endpoints) >= 25, sorted(found.endpoints)


@pytest.mark.parametrize("role", [UserRole.ADMINISTRATOR, UserRole.USER])
def test_no_two_pages_of_an_empty_installation_contradict_each_other(
    light_cluster: Cluster, client: FlaskClient, role: UserRole
) -> None:
    user = an_administrator(light_cluster) if role is UserRole.ADMINISTRATOR else a_user(light_cluster)
    token = sessions.begin_session(light_cluster, user.id, "192.0.2.1", "a test")
    client.set_cookie(f"gc_session_{light_cluster.settings.port}", token)
    found = crawl(client)
    assert len(found.addresses) > 8
    assert found.contradictions() == {}


def test_a_mark_is_the_text_of_its_element_or_its_moment() -> None:
    reader = FactReader()
    reader.feed(
        '<td data-fact="job:1:state"><span><svg/><br>Wait <i>ing</i></span></td>'
        '<p data-fact="job:1:made"><time datetime="2026-11-20T05:00:00">4 min ago</time></p>'
        '<b data-fact="job:1:units" data-value="2">2 GPUs</b>'
    )
    assert reader.facts == [
        ("job:1:state", "Wait ing"),
        ("job:1:made", "2026-11-20T05:00:00"),
        ("job:1:units", "2"),
    ]


def test_two_pages_that_differ_are_found() -> None:
    values = {
        "job:1:state": {"Running": ["/jobs"], "Waiting": ["/queue"]},
        "job:1:units": {"2": ["/", "/jobs"]},
    }
    found = Crawl(values, {"job:state": {"a", "b"}, "job:units": {"a"}}, set())
    assert list(found.contradictions()) == ["job:1:state"]
    assert found.lonely_kinds() == {"job:units": {"a"}}
