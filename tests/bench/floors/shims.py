"""Shims by the fork server and no scheduler: `/bin/true` in its cgroup and sandbox, from the start to its exit record.

This is what P5 could reach if deciding and recording cost nothing. Each attempt has the plan of one that the house has
run before, in a folder of its own.
"""

import json
import os
import shutil
import threading
import time
from pathlib import Path

from sqlalchemy import select

from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from tests.bench.bench_installation import House
from tests.bench.bench_run import SLOTS, Ground
from worker.adapters.job_runtime import install_runtime
from worker.executors.shim_fork_client import ForkedShimStarter

PATIENCE = 20.0
PAUSE = 0.0005
FIRST_NUMBER = 900_000
"""Attempts of these numbers are nobody's."""


def run(ground: Ground, measure: str) -> None:
    """After the measure itself: its jobs have left plans."""
    name, house = next(iter(ground.houses.items()))
    model = newest_attempt_folder(house)
    if model is None:
        return
    for repeat in range(ground.repeats):
        for at_once in (1, SLOTS):
            rate = rate_of_shims(house, model, ground.few(10, 100), at_once, repeat)
            case = f"the shim of /bin/true alone, {at_once} at once"
            ground.ledger.value(f"{measure}, the floor", case, name, "/s", rate)


def newest_attempt_folder(house: House) -> Path | None:
    newest = (
        select(Job.workspace_id, Job.id, Attempt.number).join(Attempt).order_by(Attempt.id.desc()).limit(1)
    )
    with house.cluster.store.read() as session:
        found = session.execute(newest).first()
    return folders.attempt_folder(house.cluster.settings, *found) if found else None


def rate_of_shims(house: House, model: Path, count: int, at_once: int, repeat: int) -> float:
    """Attempts per second, `at_once` after each other in as many threads."""
    settings = house.cluster.settings
    shim = install_runtime(settings.runtime_dir, settings.job_ids) / "shim.py"
    starter = ForkedShimStarter()
    number = FIRST_NUMBER + repeat * 10_000
    copies = [copy_of(model, number + each) for each in range(count)]
    lines = [copies[first::at_once] for first in range(at_once)]
    try:
        starter.start_shim(shim, copy_of(model, number + count))  # The fork server is there from now on.
        begun = time.perf_counter()
        threads = [threading.Thread(target=run_all, args=(starter, shim, line)) for line in lines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - begun
        assert all(has_ended(copy) for copy in copies), "a shim has left no exit record"
        return count / took
    finally:
        starter.close()
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)


def copy_of(model: Path, number: int) -> Path:
    """A folder with the same plan under another number, as the executor leaves it."""
    copy = model.parent / str(number)
    shutil.rmtree(copy, ignore_errors=True)
    for folder in (copy, copy / "control"):
        like = (model if folder == copy else model / "control").stat()
        folder.mkdir(mode=0o700)
        os.chown(folder, like.st_uid, like.st_gid)
        folder.chmod(like.st_mode & 0o7777)
    plan = json.loads((model / "control" / "plan.json").read_text().replace(str(model), str(copy)))
    plan |= {"attempt": number, "group": plan["group"].rsplit("-", 1)[0] + f"-{number}"}
    (copy / "control" / "plan.json").write_text(json.dumps(plan))
    (copy / "control" / "plan.json").chmod(0o640)
    return copy


def run_all(starter: ForkedShimStarter, shim: Path, copies: list[Path]) -> None:
    for copy in copies:
        starter.start_shim(shim, copy)
        until = time.monotonic() + PATIENCE
        while not has_ended(copy) and time.monotonic() < until:
            time.sleep(PAUSE)


def has_ended(folder: Path) -> bool:
    return (folder / "control" / "exit.json").exists()
