"""The process executor alone has pids, a shim that is root, and programs that see the machine."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from cluster.domain.jobs.attempts import ObservedState
from tests.integration.worker.executors.conftest import IS_ROOT, Bench, living_with, until
from tests.integration.worker.executors.test_contract_programs import TREE, marked
from worker.inside import shim_rank

as_root = pytest.mark.skipif(not IS_ROOT, reason="needs root: only then jobs run as users of their own")


@pytest.fixture
def bench(process_bench: Bench) -> Bench:
    return process_bench


def test_starting_is_quick(bench: Bench) -> None:
    spans = []
    for _ in range(3):
        began = time.monotonic()
        bench.start(bench.plan("/bin/true"))
        spans.append(time.monotonic() - began)
    assert min(spans) < 1.0


def test_a_run_of_another_boot_is_gone(bench: Bench) -> None:
    plan = bench.plan("/bin/true")
    bench.run(plan)
    started = plan.folder / "control" / "started"
    content = json.loads(started.read_text())
    content["boot_id"] = "another"
    started.write_text(json.dumps(content))
    sight = bench.executor.read_status(plan.folder)
    assert (sight.observed, sight.is_of_this_boot) == (ObservedState.ENDED, False)


def test_a_killed_shim_leaves_nothing_behind(bench: Bench) -> None:
    mark, plan = marked(bench.script(TREE))
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"grown")
    os.kill(handle["pid"], signal.SIGKILL)
    until(lambda: bench.executor.read_status(plan.folder).observed is ObservedState.ENDED)
    assert bench.executor.read_exit_record(plan.folder) is None
    until(lambda: bench.executor.end_leftovers(plan.folder) == 0)
    assert living_with(mark) == []


def test_a_shim_that_does_not_answer_is_ended_with_its_tree(bench: Bench) -> None:
    mark, plan = marked(bench.script(TREE))
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"grown")
    bench.executor.stop(handle)
    os.kill(handle["pid"], signal.SIGSTOP)
    bench.executor.kill(handle)
    until(lambda: bench.executor.read_status(plan.folder).observed is ObservedState.ENDED)
    assert living_with(mark) == []


@as_root
def test_the_control_folder_is_closed_to_the_program(bench: Bench) -> None:
    plan = bench.script(
        "import os\n"
        "control = os.path.join(os.environ['GROUNDCREW_OUT'], '..', 'control')\n"
        "for path in ('exit.json', 'started', 'plan.json'):\n"
        "    try:\n        open(os.path.join(control, path), 'w')\n        print('wrote', path)\n"
        "    except PermissionError:\n        print('refused', path)\n"
        "try:\n    os.rename(control, control + '2')\n    print('renamed')\n"
        "except OSError:\n    print('refused rename')\n"
    )
    bench.run(plan)
    assert b"wrote" not in bench.log(plan) and b"renamed" not in bench.log(plan)
    assert bench.log(plan).count(b"refused") == 4


def test_a_full_log_gives_its_middle_back(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.stdout"
    log = shim_rank.open_log(str(path))
    os.write(log, b"head\n" + b"x" * 4_000_000 + b"\ntail\n")
    size = path.stat().st_size
    assert shim_rank.punch_log_hole(log, limit=1_000_000, head=65_536, tail=262_144)
    assert path.stat().st_blocks * 512 < 1_000_000
    content = path.read_bytes()
    assert content.startswith(b"head\n") and content[size - 6 : size] == b"\ntail\n"
    assert not shim_rank.punch_log_hole(log, limit=1_000_000)
    os.close(log)
