"""A tab hears of its jobs' files as long as its person may see them, and every tab is checked again."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from cluster.domain.states import JobState, Visibility
from cluster.event_bus import BusEvent
from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from cluster.store.trainings import Training
from cluster.store.users import User
from portal.live.event_stream import StreamEnd, Tab, WatchedJob
from portal.live.file_watcher import FileSizes, FileWatcher, Folder
from portal.live.open_tabs import OpenTabs
from portal.live.rights import RightsReader
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, add, holding


class Watched:
    """Tabs and a watcher that looks when the test says so."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.watcher = FileWatcher(cluster.settings.storage_dir, self.take)
        self.tabs = OpenTabs(RightsReader(cluster), self.watcher)

    def take(self, changed: Mapping[Folder, FileSizes]) -> None:
        self.tabs.deliver_sizes(changed)

    def look(self) -> None:
        self.watcher.look(1e9)

    async def open(self, user: User, *jobs: int) -> tuple[Tab, Callable[[], None]]:
        """The tab, and what closes it."""
        token = sessions.begin_session(self.cluster, user.id, "192.0.2.1", "a test")
        rights = await self.tabs.rights.read(token, jobs)
        assert rights.person
        tab = Tab(rights.person, token, frozenset({"jobs"}), {job_id: WatchedJob() for job_id in jobs})
        kept = ExitStack()
        kept.enter_context(self.tabs.keep(tab, rights))
        return tab, kept.close


@pytest.fixture
def watched(light_cluster: Cluster) -> Watched:
    return Watched(light_cluster)


@pytest.fixture
def hidden_job(light_cluster: Cluster) -> tuple[User, Job]:
    """A running job of a training that its owner is about to hide, and a member who may see it until then."""
    owner, member = a_user(light_cluster), a_user(light_cluster)
    workspace = a_workspace(light_cluster, members=(owner, member))
    job = a_job(light_cluster, a_training(light_cluster, workspace, owner), owner, 1, JobState.RUNNING)
    holding(light_cluster, job, a_node(light_cluster).units[:1])
    return member, job


def write_log(cluster: Cluster, job: Job, attempt: int, text: str) -> Path:
    out = folders.attempt_folder(cluster.settings, job.workspace_id, job.id, attempt) / "out"
    out.mkdir(parents=True, exist_ok=True)
    (out / "rank-0.stdout").write_text(text)
    return out


def test_who_loses_the_right_to_a_job_hears_no_more_of_its_files(
    watched: Watched, hidden_job: tuple[User, Job]
) -> None:
    member, job = hidden_job
    write_log(watched.cluster, job, 1, "hello\n")

    async def follow() -> None:
        tab, _ = await watched.open(member, job.id)
        watched.look()
        assert '"sizes": {"rank-0.stdout": 6}' in tab.take_text()
        with watched.cluster.store.write() as session:
            session.get_one(Training, job.training_id).visibility = Visibility.PRIVATE
        await watched.tabs.check()
        write_log(watched.cluster, job, 1, "a secret\n")
        watched.look()
        assert tab.take_text() == "" and tab.end is None
        assert not watched.watcher.folders and not watched.tabs.watched_jobs

    asyncio.run(follow())


def test_a_new_attempt_is_followed_and_the_old_one_forgotten(
    watched: Watched, hidden_job: tuple[User, Job]
) -> None:
    member, job = hidden_job
    write_log(watched.cluster, job, 1, "hello\n")

    async def follow() -> None:
        tab, close = await watched.open(member, job.id)
        watched.look()
        tab.take_text()
        with watched.cluster.store.write() as session:
            first = session.query(Attempt).filter_by(job_id=job.id).one()
            first.ended_at, node_id = watched.cluster.clock(), first.node_id
        add(
            watched.cluster,
            Attempt(job_id=job.id, number=2, node_id=node_id, created_at=watched.cluster.clock()),
        )
        write_log(watched.cluster, job, 2, "again!\n")
        await watched.tabs.check()
        watched.look()
        assert '"attempt": 2, "sizes": {"rank-0.stdout": 7}' in tab.take_text()
        assert len(watched.watcher.folders) == len(watched.tabs.followers) == 1
        close()
        assert not watched.watcher.folders and not watched.tabs.tabs and not watched.tabs.watched_jobs

    asyncio.run(follow())


def test_one_look_serves_all_tabs_of_a_job_until_the_last_has_left(
    watched: Watched, hidden_job: tuple[User, Job]
) -> None:
    member, job = hidden_job
    write_log(watched.cluster, job, 1, "hello\n")

    async def follow() -> None:
        opened = [await watched.open(member, job.id) for _ in range(3)]
        watched.look()
        assert {tab.take_text() for tab, _ in opened} == {
            f'event: log\ndata: {{"job": {job.id}, "attempt": 1, "sizes": {{"rank-0.stdout": 6}}}}\n\n'
        }
        late, close_last = await watched.open(member, job.id)
        assert '"rank-0.stdout": 6' in late.take_text(), "who comes later has the sizes at once"
        for _, close in opened:
            close()
        assert len(watched.watcher.folders) == 1
        close_last()
        assert not watched.watcher.folders

    asyncio.run(follow())


def test_a_stream_ends_with_its_session_and_no_other_does(watched: Watched) -> None:
    user = a_user(watched.cluster)

    async def follow() -> None:
        opened = [await watched.open(user) for _ in range(2)]
        (ends, _), (stays, _) = opened
        sessions.sign_out(watched.cluster, ends.token)
        await watched.tabs.check()
        assert (ends.end, stays.end) == (StreamEnd.SESSION, None)

    asyncio.run(follow())


@pytest.mark.parametrize("error", [OperationalError("SELECT", {}, Exception("away")), KeyError("a bug")])
def test_where_nobody_can_say_whose_a_stream_is_it_ends(
    watched: Watched, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise error

    async def follow() -> None:
        tab, _ = await watched.open(a_user(watched.cluster))
        monkeypatch.setattr(watched.tabs.rights, "read_all", fail)
        await watched.tabs.check()
        assert tab.end is StreamEnd.SERVICE

    asyncio.run(follow())


def test_events_that_may_change_rights_bring_the_next_check_forward(
    watched: Watched, hidden_job: tuple[User, Job]
) -> None:
    member, job = hidden_job
    cases = {
        **{(topic, 1): True for topic in ("trainings", "workspaces", "users")},
        ("jobs", job.id): True,
        ("jobs", 0): True,
        ("jobs", job.id + 1): False,
        ("queue", job.id): False,
    }

    async def follow() -> None:
        opened = await watched.open(member, job.id)
        for (topic, row_id), is_due in cases.items():
            watched.tabs.is_check_due.clear()
            watched.tabs.deliver_events([BusEvent("1-1", topic, row_id, "a test")])
            assert watched.tabs.is_check_due.is_set() == is_due, (topic, row_id)
        opened[1]()

    asyncio.run(follow())


def test_checks_come_by_themselves_while_a_tab_is_open(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.live.open_tabs.CHECK_SECONDS", 0.01)
    monkeypatch.setattr("portal.live.open_tabs.CHECK_PAUSE_SECONDS", 0.0)
    user = a_user(watched.cluster)

    async def follow() -> None:
        checking = asyncio.create_task(watched.tabs.check_forever())
        tab, close = await watched.open(user)
        sessions.sign_out(watched.cluster, tab.token)
        async with asyncio.timeout(20):
            await tab.awake.wait()
        assert tab.end is StreamEnd.SESSION
        close()
        checking.cancel()

    asyncio.run(follow())
