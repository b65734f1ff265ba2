"""As on servers: root makes the folder of a workspace, a service without root writes in it, and its jobs read that."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.domain.states import DatasetKind
from cluster.files import safe_files
from cluster.services.context import Cluster
from cluster.services.storage import folders, staged_code
from cluster.services.workspaces.lifecycle import create_workspace
from cluster.settings import Settings
from cluster.store.workspaces import Workspace
from tests.builders import a_dataset, a_node, actor_of, an_administrator
from tests.conftest import RecordingBell
from worker.commands.scheduler import TOPICS
from worker.executors.simulated import SimulatedCluster, SimulatedExecutor
from worker.scheduling.loop import SchedulerLoop, Wakeup
from worker.tasks.datasets import remove_dataset_folder, staging_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
SERVICE, NUMBER = "daemon", 1
STRANGER = 190_003


@pytest.fixture
def cluster(light_cluster: Cluster, ground: Path) -> Cluster:
    settings = replace(light_cluster.settings, state_dir=ground, service_user=SERVICE)
    return replace(light_cluster, settings=settings, events=RecordingBell())


@pytest.fixture
def scheduler(cluster: Cluster, tmp_path: Path) -> SchedulerLoop:
    at_once = cast(Wakeup, SimpleNamespace(wake=lambda: None, wait=lambda seconds, ends: True))
    scheduler = SchedulerLoop(
        cluster, SimulatedExecutor(SimulatedCluster(tmp_path / "world")), tmp_path, at_once
    )
    assert scheduler.renew_lease()
    return scheduler


def a_new_workspace(cluster: Cluster, name: str) -> Workspace:
    person = actor_of(an_administrator(cluster, name=f"of-{name}"))
    day = cluster.clock().date()
    return create_workspace(cluster, person, name, "", day, day, 1, person.name)


def as_service(act: Callable[[], object]) -> int:
    """Its exit code: 0, or 1 where it was refused."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(NUMBER, NUMBER, NUMBER)
            os.setresuid(NUMBER, NUMBER, NUMBER)
            os.umask(0o027)
            folders.IS_ROOT = False
            act()
            code = 0
        except OSError as error:
            sys.stderr.write(f"{error}\n")
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def can_read(path: Path, user: int, group: int) -> bool:
    done = subprocess.run(
        ["/bin/cat", path], user=user, group=group, extra_groups=[], capture_output=True, check=False
    )
    return done.returncode == 0


def write_code(settings: Settings, workspace: int, version: int = 1) -> Callable[[], Any]:
    folder = folders.code_folder(settings, workspace, 3, version)
    return lambda: staged_code.write_code(settings, folder, [("train.py", b"pass")], workspace)


def test_a_service_writes_code_for_jobs_of_one_workspace_into_the_folder_that_root_made(
    cluster: Cluster, scheduler: SchedulerLoop
) -> None:
    a_node(cluster, units=2)
    first, second = a_new_workspace(cluster, "first"), a_new_workspace(cluster, "second")
    assert ("workspaces", first.id) in cast(RecordingBell, cluster.events).rung and "workspaces" in TOPICS
    scheduler.run_pass()
    settings, base = cluster.settings, cluster.settings.gid_base
    for version in (1, 2, 2):  # The last one as after a crash: what stood there is replaced.
        assert as_service(write_code(settings, first.id, version)) == 0
        file = folders.code_folder(settings, first.id, 3, version) / "train.py"
        assert file.stat().st_uid == NUMBER
        assert can_read(file, 100_007, base + first.id)
        assert not can_read(file, 100_007, base + second.id) and not can_read(file, STRANGER, STRANGER)


@pytest.mark.parametrize("is_replaced", [False, True], ids=["filled", "replaced"])
def test_a_dataset_that_a_service_unpacks_is_for_the_jobs_of_its_workspace(
    cluster: Cluster, scheduler: SchedulerLoop, is_replaced: bool
) -> None:
    """What writes the sample digits puts a whole folder in the place of the empty one, under the umask of services."""
    a_node(cluster, units=2)
    workspace = a_new_workspace(cluster, "first")
    scheduler.run_pass()
    dataset = a_dataset(cluster, workspace, kind=DatasetKind.UPLOAD)

    def unpack() -> None:
        with staging_folder(cluster, dataset) as (folder, is_done):
            filled = folder.with_name(".own") if is_replaced else folder
            if is_replaced:
                with safe_files.open_folder_path(folder.parent) as parent:
                    os.close(safe_files.make_folder(parent, ".own", 0o755))
            os.umask(0o022)
            (filled / "class").mkdir()
            (filled / "class" / "image.png").write_bytes(b"1")
            filled.rename(folder)

    assert as_service(unpack) == 0
    folder, group = (
        folders.dataset_folder(cluster.settings, dataset),
        cluster.settings.gid_base + workspace.id,
    )
    assert can_read(folder / "class" / "image.png", 100_007, group)
    assert not can_read(folder / "class" / "image.png", 100_007, group + 1)
    modes = {
        path.stat().st_mode & 0o777 for path in (folder, folder / "class", folder / "class" / "image.png")
    }
    assert modes == {0o750, 0o640}
    assert as_service(lambda: remove_dataset_folder(cluster, dataset)) == 0
    assert [path.name for path in folder.parent.iterdir()] == []


def test_a_workspace_that_is_made_while_the_scheduler_sleeps_has_its_folder_when_the_bell_wakes_it(
    cluster: Cluster, scheduler: SchedulerLoop
) -> None:
    a_node(cluster, units=2)
    scheduler.run_pass()
    workspace = a_new_workspace(cluster, "late")
    scheduler.wait_for_next_pass(living=0)
    scheduler.run_pass()
    assert (folders.workspace_folder(cluster.settings, workspace.id) / "code").is_dir()


@pytest.mark.parametrize(
    "move",
    [
        lambda folder: (folder / "jobs").rename(folder / "aside"),
        lambda folder: (folder / "code").rename(folder / "aside"),
        lambda folder: folder.rename(folder.with_name("aside")),
        lambda folder: folder.parent.rename(folder.parent.with_name("aside")),
        lambda folder: (folder / "jobs" / "7").mkdir(),
        lambda folder: (folder / "new").symlink_to("/etc"),
        lambda folder: folder.with_name("99").mkdir(),
        lambda folder: folder.chmod(0o777),
    ],
)
def test_a_service_can_change_nothing_by_which_root_works(
    cluster: Cluster, move: Callable[[Path], object]
) -> None:
    folder = folders.ensure_workspace_folder(cluster.settings, 1)
    assert as_service(lambda: move(folder)) == 1
