"""What a workspace takes on its disk is measured beside the loop, without following links or counting twice."""

import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.store.workspaces import Workspace
from tests.builders import a_workspace
from worker.adapters import workspace_sizes
from worker.adapters.workspace_sizes import (
    MEASURE_SECONDS,
    Measurement,
    WorkspaceSizes,
    measure_folder,
    measure_workspaces,
)

SIZE = 300_000


@pytest.fixture
def held(light_cluster: Cluster) -> HeldLease:
    lease = acquire_lease(light_cluster, "scheduler", "me", timedelta(days=1))
    assert lease is not None
    return lease


def used_by(cluster: Cluster, workspace_id: int) -> int | None:
    with cluster.store.read() as session:
        return session.get_one(Workspace, workspace_id).storage_used_bytes


def wait_for_measurements() -> None:
    for thread in threading.enumerate():
        if thread.name == "sizes":
            thread.join()


def test_links_are_not_followed_and_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "1", tmp_path / "elsewhere"
    (folder / "datasets").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "large").write_bytes(os.urandom(4 * SIZE))
    (folder / "datasets" / "one").write_bytes(os.urandom(SIZE))
    once = measure_folder(folder)
    assert SIZE <= once < 2 * SIZE
    os.link(folder / "datasets" / "one", folder / "two")
    (folder / "link").symlink_to(elsewhere)
    (folder / "large").symlink_to(elsewhere / "large")
    assert measure_folder(folder) < 2 * SIZE


def test_a_hole_takes_no_room(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(1024**3)
    assert measure_folder(tmp_path) < SIZE


def test_a_workspace_without_a_folder_stores_nothing(tmp_path: Path, light_cluster: Cluster) -> None:
    measurement = Measurement(light_cluster.clock())
    measure_workspaces(measurement, tmp_path, [7])
    assert measurement.is_done and measurement.sizes == {7: 0}


def test_a_measurement_is_recorded_by_the_loop_and_repeated_after_its_period(
    light_cluster: Cluster, held: HeldLease
) -> None:
    cluster, now = light_cluster, [0.0]
    number = a_workspace(cluster).id
    folder = cluster.settings.storage_dir / "workspaces" / str(number)
    folder.mkdir(parents=True)
    sizes = WorkspaceSizes(cluster, lambda: now[0])
    sizes.advance(held)
    wait_for_measurements()
    (folder / "one").write_bytes(os.urandom(SIZE))
    sizes.advance(held)
    first = used_by(cluster, number)
    assert first is not None and first < SIZE
    now[0] = MEASURE_SECONDS - 1
    sizes.advance(held)
    assert sizes.current is None
    now[0] = MEASURE_SECONDS
    sizes.advance(held)
    wait_for_measurements()
    sizes.advance(held)
    second = used_by(cluster, number)
    assert second is not None and second - first >= SIZE


def test_one_measurement_at_a_time(
    light_cluster: Cluster, held: HeldLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, goes_on = a_workspace(light_cluster).id, threading.Event()
    monkeypatch.setattr(workspace_sizes, "measure_folder", lambda folder: int(goes_on.wait()) * 7)
    now = [0.0]
    sizes = WorkspaceSizes(light_cluster, lambda: now[0])
    sizes.advance(held)
    now[0] = 10 * MEASURE_SECONDS
    running = sizes.current
    sizes.advance(held)
    assert sizes.current is running and used_by(light_cluster, number) is None
    goes_on.set()
    wait_for_measurements()
    sizes.advance(held)
    assert used_by(light_cluster, number) == 7
