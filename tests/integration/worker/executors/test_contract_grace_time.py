"""A program gets its grace time before it is killed, and its run records what it has used."""

import json
import time
from pathlib import Path

import pytest

from tests.integration.worker.executors.conftest import PYTHON, Bench, until
from tests.start_plans import change_plan
from worker.inside import shim_usage

SAVES = """
import signal, sys, time
def save(*_):
    print("asked", flush=True)
    time.sleep({seconds})
    print("saved", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(600)
"""


def test_at_the_time_limit_the_program_has_its_grace(bench: Bench) -> None:
    plan = bench.script(SAVES.format(seconds=2), time_limit_seconds=2, grace_seconds=30)
    truth = bench.run(plan)
    assert truth.timed_out and not truth.stopped
    assert bench.log(plan).split() == [b"ready", b"asked", b"saved"]


def test_grace_has_an_end(bench: Bench) -> None:
    plan = bench.script(SAVES.format(seconds=60), time_limit_seconds=2, grace_seconds=2)
    began = time.monotonic()
    truth = bench.run(plan)
    assert truth.timed_out and truth.signal == 9
    assert bench.log(plan).split() == [b"ready", b"asked"]
    assert time.monotonic() - began < 15


def test_a_patient_stop_waits_for_a_checkpoint_and_a_plain_one_shortens_it(bench: Bench) -> None:
    plan = bench.script(SAVES.format(seconds=60), grace_seconds=60)
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"ready")
    bench.executor.stop(handle, patiently=True)
    bench.wait_for_log(plan, b"asked")
    began = time.monotonic()
    bench.executor.stop(handle)
    assert bench.end_of(plan).stopped
    assert time.monotonic() - began < 10


def test_a_patient_stop_lets_the_program_finish(bench: Bench) -> None:
    plan = bench.script(SAVES.format(seconds=7), grace_seconds=60)
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"ready")
    bench.executor.stop(handle, patiently=True)
    assert bench.end_of(plan).stopped
    assert b"saved" in bench.log(plan)


LAUNCHER = """
import signal, subprocess, sys, time
def leave(*_):
    for rank in ranks:
        rank.kill()
    sys.exit(1)
ranks = [subprocess.Popen({rank!r}, env={{**__import__("os").environ, "RANK": str(n)}}) for n in range(2)]
signal.signal(signal.SIGTERM, leave)
for rank in ranks:
    rank.wait()
"""


def test_ranks_can_save_before_an_impatient_launcher_hears_of_it(bench: Bench) -> None:
    """Launchers kill their ranks within seconds of a signal, so the ranks are asked first."""
    program = bench.script(SAVES.format(seconds=2), grace_seconds=20)
    rank = [PYTHON, f"{bench.runtime}/shim_rank.py", "--", PYTHON, "-u", "train.py"]
    argv = (PYTHON, "-c", LAUNCHER.format(rank=rank))
    plan = change_plan(program, argv=argv, ranks=2)
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"ready")
    until(lambda: (plan.out / "rank-1.stdout").exists() and b"ready" in bench.log(plan, rank=1))
    bench.executor.stop(handle, patiently=True)
    bench.end_of(plan)
    assert [bench.log(plan, rank=each).split()[-1] for each in range(2)] == [b"saved", b"saved"]


def test_memory_and_work_are_averaged(bench: Bench) -> None:
    plan = bench.script(
        "import time\nx = bytearray(50_000_000)\nt = time.time()\nwhile time.time() - t < 5: pass\n"
    )
    truth = bench.run(plan)
    assert truth.max_rss_bytes and truth.average_rss_bytes and truth.cpu_seconds and truth.unit_seconds_used
    assert 20_000_000 < truth.average_rss_bytes <= truth.max_rss_bytes
    assert 0.5 < truth.unit_seconds_used <= truth.cpu_seconds + 0.01


def told(path: Path, *gpus: tuple[str, int | None]) -> str:
    path.write_text(json.dumps({"gpus": [{"uuid": uuid, "utilisation": share} for uuid, share in gpus]}))
    return str(path)


def test_the_work_of_gpus_is_what_the_agent_measured(tmp_path: Path) -> None:
    path = told(tmp_path / "node-a.json", ("GPU-a", 50), ("GPU-b", 100), ("GPU-c", None))
    assert shim_usage.read_gpu_work(path, {"GPU-a", "GPU-b"}) == 1.5
    assert shim_usage.read_gpu_work(path, {"GPU-c"}) == 0
    usage = shim_usage.UsageMeter({"gpus": ["GPU-a"], "units": 1, "telemetry": path})
    assert usage.to_json()["unit_seconds_used"] is None
    usage.measured -= 10
    usage.measure([], 0.0)
    assert usage.to_json()["unit_seconds_used"] == pytest.approx(5.0, abs=0.5)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"gpus": 3}', '{"gpus": [{"uuid": "GPU-a", "utilisation": "x"}]}']
)
def test_telemetry_that_makes_no_sense_says_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "node-a.json"
    path.write_text(content)
    assert shim_usage.read_gpu_work(str(path), {"GPU-a"}) is None


def test_old_telemetry_says_nothing(tmp_path: Path) -> None:
    import os

    path = told(tmp_path / "node-a.json", ("GPU-a", 50))
    os.utime(path, (1, 1))
    assert shim_usage.read_gpu_work(path, {"GPU-a"}) is None
    assert shim_usage.read_gpu_work(str(tmp_path / "nowhere"), {"GPU-a"}) is None
