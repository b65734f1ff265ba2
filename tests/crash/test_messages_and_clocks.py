"""Messages come twice and out of order (F14), operations die at every point, clocks are set (F15)."""

import random
import shutil
import zipfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.services import datasets
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.storage import folders
from tests.crash.installation import Ground
from tests.crash.invariants.checker import violations
from tests.crash.invariants.row_snapshot import Seen
from tests.crash.scenario.actors import Stage
from tests.crash.scenario.main_scenario import Step
from tests.crash.sweep import first_of_each, in_child, list_points, look, one_death, one_run, some_of, sweep
from worker.tasks.run import run_claimed

NAMES = ("first", "second", "third")
FILES = 5


def upload(stage: Stage, name: str) -> None:
    """An archive that the portal has received whole; a name that is taken was uploaded by the first try."""
    ground = stage.ground
    if any(row["name"] == name for row in look(ground).of("datasets")):
        return
    received = folders.incoming_folder(ground.settings) / f"upload-{name}"
    with zipfile.ZipFile(received, "w") as archive:
        for number in range(FILES):
            archive.writestr(f"{number}.txt", str(number))
    datasets.create_upload(ground.cluster, ground.administrator, 1, name, f"{name}.zip", received)


def work(stage: Stage, order: Sequence[int] = ()) -> None:
    """As RQ's workers do: whatever the bell has rung for, and what the sweep rings for again."""
    ground = stage.ground
    for row in list(order) or [each["id"] for each in look(ground).of("operations")]:
        run_claimed(ground.cluster, row)


def work_on(stage: Stage) -> None:
    """A dead worker's lease runs out, its operation is rung for again and taken up by another."""
    for _ in range(8):
        work(stage)
        stage.ground.world.advance_clock(5)
        requeue_stale_operations(stage.ground.cluster)


def delete(stage: Stage, name: str) -> None:
    for row in look(stage.ground).of("datasets"):
        if row["name"] == name and row["deleted_at"] is None:
            datasets.delete_dataset(stage.ground.cluster, stage.ground.administrator, row["id"])


IMPORTS: Sequence[Step] = (
    lambda on: upload(on, "first"),
    work_on,
    lambda on: delete(on, "first"),
    work_on,
    lambda on: upload(on, "second"),
    work_on,
)


def result(seen: Seen) -> list[tuple[Any, ...]]:
    """What has to be the same however often and in whichever order messages came."""
    return sorted((row["name"], row["state"], row["files"], row["bytes"]) for row in seen.of("datasets"))


def test_a_task_worker_that_dies_at_any_point_leaves_whole_datasets_or_none(sqlite_ground: Ground) -> None:
    numbers = some_of(first_of_each(list_points(sqlite_ground, IMPORTS)), 2)
    report = sweep(sqlite_ground, "imports", IMPORTS, numbers, checked_death)
    print(report.line())
    assert not report.wrong


def checked_death(ground: Ground, story: Sequence[Step], number: int) -> Any:
    finding = one_death(ground, story, number)
    seen = look(ground)
    wrong = list(finding.wrong)
    for row in seen.of("datasets"):
        folder = seen.storage / "workspaces" / "1" / "datasets" / str(row["id"])
        is_there = folder.exists() and len(list(folder.iterdir())) == FILES
        if is_there != (row["deleted_at"] is None) or (row["deleted_at"] is None and row["state"] != "ready"):
            wrong.append(f"dataset {row['name']} is {row['state']} and its files are there: {is_there}")
    wrong += [f"{path.name} was left behind" for path in (seen.storage / "incoming").glob("dataset-*")]
    return type(finding)(finding.number, finding.point, wrong, finding.seconds_to_right)


@pytest.mark.parametrize("seed", [1, 2])
def test_messages_that_come_twice_and_out_of_order_change_nothing(ground: Ground, seed: int) -> None:
    results = []
    for order in ([1, 2, 3], shuffled(seed)):
        uploads: list[Step] = [lambda on, name=name: upload(on, name) for name in NAMES]
        assert not one_run(ground, [*uploads, lambda on, order=order: work(on, order)], []).wrong
        assert [row["fence"] for row in look(ground).of("operations")] == [1, 1, 1]
        results.append(result(look(ground)))
    assert results[0] == results[1]
    assert [row[:3] for row in results[0]] == [(name, "ready", FILES) for name in sorted(NAMES)]


def shuffled(seed: int) -> list[int]:
    print(f"seed {seed}")
    order = [1, 2, 3] * 3
    random.Random(seed).shuffle(order)
    return order


@pytest.mark.parametrize(
    "jump", [timedelta(days=3650), timedelta(hours=-1)], ids=["ten years on", "an hour back"]
)
def test_a_clock_that_is_set_loses_no_lease_and_interrupts_nothing(
    sqlite_ground: Ground, jump: timedelta
) -> None:
    """It is set while a job runs, and set right again later."""
    ground = sqlite_ground
    ground.put_back()
    log = ground.folder / "children.log"
    assert in_child(lambda: live_through(ground, jump), log) == 0, log.read_text()[-3000:]
    seen = look(ground)
    assert [(job["state"], job["fence"]) for job in seen.of("jobs")] == [("finished", 1)]
    assert [node["lost_at"] for node in seen.of("nodes")] == [None, None]
    of_clock = ("audited", "quotas", "units_once")
    assert [each for each in violations(seen) if not each.startswith(of_clock)] == []


def live_through(ground: Ground, jump: timedelta) -> None:
    shown = ground.cluster.clock
    offset = [timedelta(0)]
    object.__setattr__(ground.cluster, "clock", lambda: shown() + offset[0])
    stage = Stage(ground)
    stage.submit("short", ground.wide, 1)
    stage.run(1)
    offset[0] = jump
    stage.run(1)
    offset[0] = timedelta(0)
    stage.run(20)


def test_a_frozen_clock_lets_jobs_end(sqlite_ground: Ground) -> None:
    ground = sqlite_ground
    ground.put_back()
    log = ground.folder / "children.log"

    def live() -> None:
        frozen = ground.cluster.clock()
        object.__setattr__(ground.cluster, "clock", lambda: frozen)
        stage = Stage(ground)
        stage.submit("short", ground.wide, 1)
        stage.run(10)

    assert in_child(live, log) == 0, log.read_text()[-3000:]
    assert [job["state"] for job in look(ground).of("jobs")] == ["finished"]


def test_the_folder_of_the_ground_is_put_back(sqlite_ground: Ground) -> None:
    """Else one test would see what another left."""
    leftover = Path(sqlite_ground.settings.storage_dir) / "incoming"
    leftover.mkdir(parents=True, exist_ok=True)
    sqlite_ground.put_back()
    assert not leftover.exists()
    shutil.rmtree(leftover, ignore_errors=True)
