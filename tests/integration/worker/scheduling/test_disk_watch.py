"""A disk that becomes full: who fills it is ended, all others wait or go on, and the portal answers."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from cluster.domain.states import JobState, TrainingKind
from cluster.services.people import sessions
from cluster.services.storage import disk_shortage, folders
from cluster.services.storage.ballast import BALLAST
from cluster.store.users import User
from portal import create_app
from tests.builders import a_training, a_user, a_workspace
from tests.integration.conftest import a_cluster, redis_server, settings_on
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, a_field
from tests.machine.small_disk import MIB, fill, small_disk

RESERVE = 16 * MIB
WRITER = """
import os, time
file = open("big", "ab", buffering=0)
print("writing", flush=True)
while True:
    try:
        file.write(b"x" * 65536)
    except OSError:
        time.sleep(0.01)
"""
SLEEPS = "import time\nprint('begun', flush=True)\ntime.sleep(600)"


@dataclass
class SmallDisk:
    """A cluster whose state lies on a disk of 64 MiB, of which 16 are kept."""

    field: Field
    state: Path
    member: User
    others: Field
    """The same cluster, submitting to a training of another workspace."""

    def browser(self, user: User) -> FlaskClient:
        cluster = self.field.cluster
        client = create_app(cluster, testing=True).test_client()
        token = sessions.begin_session(cluster, user.id, "192.0.2.1", "a test")
        client.set_cookie(f"gc_session_{cluster.settings.port}", token)
        client.set_cookie("gc_language", "en")
        return client

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.state).free


@pytest.fixture(params=["tmpfs", pytest.param("ext4", marks=pytest.mark.long)])
def disk(request: pytest.FixtureRequest, migrated_file: Path, tmp_path: Path) -> Iterator[SmallDisk]:
    with ExitStack() as stack:
        state = stack.enter_context(small_disk(64, request.param))
        url = stack.enter_context(redis_server(tmp_path / "redis.sock"))
        settings = settings_on(state, migrated_file, url)
        settings = replace(settings, disk_reserve_bytes=RESERVE)
        field = stack.enter_context(a_field(stack.enter_context(a_cluster(settings))))
        field.node_has(units=4)
        field.cluster.store.hold_open()
        field.variables = {"GROUNDCREW_DISK_RESERVE_BYTES": str(RESERVE)}
        member = a_user(field.cluster, "minjun")
        elsewhere = a_workspace(field.cluster, member, units=4)
        folders.ensure_workspace_folder(settings, elsewhere.id)
        training = a_training(field.cluster, elsewhere, member, kind=TrainingKind.ADVANCED)
        yield SmallDisk(field, state, member, replace(field, training=training))


def test_the_writer_is_ended_others_go_on_and_the_portal_still_writes(disk: SmallDisk) -> None:
    field, others = disk.field, disk.others
    field.start_scheduler()
    until(lambda: (disk.state / BALLAST).exists(), what="the ballast")
    bystander = others.submit(SLEEPS, name="bystander")
    field.wait_for(bystander, JobState.RUNNING)
    browser = disk.browser(disk.member)
    hostile = field.submit(WRITER, name="hostile", retries=3)

    ended = field.wait_for_end(hostile)
    assert (ended.state, ended.end_code) == (JobState.FAILED, "exit.disk_filled"), ended.end_data
    assert ended.end_data is not None and ended.end_data["mount"] == str(disk.state)
    assert ended.end_data["bytes"] >= RESERVE and len(field.attempts(hostile)) == 1
    assert disk.free < RESERVE

    # The disk is still short: nothing new starts, and says which disk and who fills it.
    waiting = others.submit("print('at last')", name="waiting")
    until(lambda: field.read(waiting).waiting_code == "waiting.disk_short", what="the reason")
    page = browser.get(f"/jobs/{waiting.id}").get_data(as_text=True)
    assert str(disk.state) in page and f"job-{hostile.id} (" in page

    # A member still signs in, reads, and stops a job.
    assert field.read(bystander).state is JobState.RUNNING
    assert disk.browser(disk.member).post(f"/jobs/{bystander.id}/stop").status_code == 303
    assert field.wait_for_end(bystander).state is JobState.STOPPED

    # Once the files of the writer are deleted, what waited starts.
    administrator = disk.browser(field.person)
    assert administrator.post(f"/jobs/{hostile.id}/files/delete").status_code == 303
    assert field.wait_for_end(waiting).state is JobState.FINISHED
    assert field.log(waiting) == b"at last\n"
    assert not field.out(hostile).parent.parent.exists()
    page = administrator.get(f"/jobs/{hostile.id}").get_data(as_text=True)
    assert f"The files of job-{hostile.id} were deleted by {field.person.name}" in page
    until(lambda: disk_shortage.read_disk_shortage(field.cluster) is None, what="no shortage any more")
    until(lambda: (disk.state / BALLAST).exists(), what="the ballast again")


NEEDS_A_MIB = "open('result', 'wb').write(b'x' * 1024 * 1024)\nprint('written at last')"


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(512 * 1024, id="no room for its result"),
        pytest.param(32 * 1024, id="no room to begin", marks=pytest.mark.long),
    ],
)
def test_a_job_that_could_not_write_is_tried_again(ground: Path, migrated_file: Path, left: int) -> None:
    """The storage is a full disk of its own, and no reserve keeps the job from starting there."""
    with ExitStack() as stack:
        url = stack.enter_context(redis_server(ground / "redis.sock"))
        settings = replace(settings_on(ground, migrated_file, url), disk_reserve_bytes=0)
        cluster = stack.enter_context(a_cluster(settings))
        storage_disk = stack.enter_context(small_disk(16, at=settings.storage_dir))
        field = stack.enter_context(a_field(cluster))
        field.variables = {"GROUNDCREW_DISK_RESERVE_BYTES": "0"}
        field.node_has(units=1)
        job = field.submit(NEEDS_A_MIB)
        fill(storage_disk / "filler", leave=left)
        field.start_scheduler()
        until(lambda: field.attempts(job) and field.attempts(job)[0].end_code, what="an end")
        first = field.attempts(job)[0]
        assert first.end_code == "interrupted.disk_full" and first.end_data is not None
        assert first.end_data["mount"] == str(storage_disk)
        (storage_disk / "filler").unlink()
        ended = field.wait_for_end(job)
        assert (ended.state, ended.retries_used) == (JobState.FINISHED, 0)
        assert field.log(job, ended.fence) == b"written at last\n"
