"""The record of an end holds what the program measured; a lost loss is seen while it still runs, and when logs grew."""

import json

from tests.integration.worker.executors.conftest import Bench, until

LOSES_ITS_LOSS = """
import time
import groundcrew_job
groundcrew_job.log(1, loss=0.5, accuracy_validation=0.75)
groundcrew_job.log(2, loss=float("nan"))
while not __import__("os").path.exists(groundcrew_job.out() + "/go-on"):
    time.sleep(0.02)
groundcrew_job.log(3, accuracy_validation=0.25)
"""


def test_results_and_a_lost_loss_are_told(bench: Bench) -> None:
    plan = bench.script(LOSES_ITS_LOSS)
    bench.start(plan)
    usage = plan.folder / "control" / "usage.json"
    until(lambda: usage.exists() and json.loads(usage.read_text()).get("not_finite") == "loss/train")
    (plan.folder / "out" / "go-on").touch()
    truth = bench.end_of(plan)
    assert truth.results == {"loss/train": (0.5, 0.5, 0.5), "accuracy/validation": (0.25, 0.75, 0.25)}
    assert truth.not_finite == "loss/train"


SPEAKS_TWICE = """
import os, sys, time
print("first", flush=True)
while not os.path.exists(os.environ["GROUNDCREW_OUT"] + "/go-on"):
    time.sleep(0.02)
print("last words", file=sys.stderr, flush=True)
"""


def test_it_is_written_down_when_each_log_grew(bench: Bench) -> None:
    plan = bench.script(SPEAKS_TWICE)
    bench.start(plan)
    times = plan.folder / "control" / "log_times"
    until(lambda: times.exists() and "rank-0.stdout 6\n" in times.read_text())
    (plan.folder / "out" / "go-on").touch()
    bench.end_of(plan)
    entries = [line.split(" ") for line in times.read_text().splitlines()]
    assert [entry[1:] for entry in entries] == [["rank-0.stdout", "6"], ["rank-0.stderr", "11"]]
    assert float(entries[0][0]) <= float(entries[1][0])
