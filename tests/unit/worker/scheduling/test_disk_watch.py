"""The watch over the disks ends whoever fills one, wherever in its own folders it writes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from cluster.domain.states import JobKind
from cluster.domain.storage.disk_reserve import DiskLevel, MonitoredDisk
from cluster.services.context import Cluster
from cluster.services.storage import ballast, disk_space, notebook_folders
from worker.executors.contract import Executor, Handle
from worker.scheduling.disk_watch import DiskWatch, LiveRun

MIB = 1024**2
COPY = (1, 2, 3)


@dataclass
class Steady:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Killing:
    killed: list[Handle] = field(default_factory=list)

    def kill(self, handle: Handle) -> None:
        self.killed.append(handle)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MonitoredDisk("/", 0, 1000 * MIB, 100 * MIB, DiskLevel.FULL)
    monkeypatch.setattr(disk_space, "read_monitored_disks", lambda *_: [disk])
    monkeypatch.setattr(ballast, "release_ballast", lambda _: False)


def grow(folder: Path, size: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "big").open("ab") as file:
        file.write(b"x" * size)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("place", ["files", "packages", "home"])
def test_a_notebook_that_fills_the_disk_is_ended_before_a_job_that_writes_its_log(
    light_cluster: Cluster, tmp_path: Path, place: str
) -> None:
    settings, steady, executor = light_cluster.settings, Steady(), Killing()
    kept = notebook_folders.list_kept_folders(settings, JobKind.NOTEBOOK, COPY)
    copy = notebook_folders.working_copy_folder(settings, *COPY)
    runs = {
        1: LiveRun(1, tmp_path / "notebook" / "out", {"run": "notebook"}, 0.0, kept),
        2: LiveRun(2, tmp_path / "job" / "out", {"run": "job"}, 0.0),
    }
    watch = DiskWatch(light_cluster, cast(Executor, executor), steady)
    grow(copy / place, MIB)
    watch.check(runs)
    steady.now += 10
    grow(copy / place, 20 * MIB)
    grow(runs[2].out, 2 * MIB)
    watch.check(runs)
    assert executor.killed == [{"run": "notebook"}]


@pytest.mark.usefixtures("full_disk")
def test_the_files_that_a_notebook_found_there_are_not_what_it_writes(
    light_cluster: Cluster, tmp_path: Path
) -> None:
    """A large working copy of last week, and a job that fills the disk now."""
    settings, executor = light_cluster.settings, Killing()
    kept = notebook_folders.list_kept_folders(settings, JobKind.NOTEBOOK, COPY)
    grow(kept[0], 20 * MIB)
    runs = {
        1: LiveRun(1, tmp_path / "notebook" / "out", {"run": "notebook"}, 90.0, kept),
        2: LiveRun(2, tmp_path / "job" / "out", {"run": "job"}, 90.0),
    }
    grow(runs[2].out, 2 * MIB)
    DiskWatch(light_cluster, cast(Executor, executor), Steady()).check(runs)
    assert executor.killed == [{"run": "job"}]


def test_a_job_writes_nothing_that_outlives_it(light_cluster: Cluster) -> None:
    assert notebook_folders.list_kept_folders(light_cluster.settings, JobKind.PROGRAM, COPY) == []
