"""Services that are not root read what a program has written, in a process and in a container; nobody else does."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.worker.executors.conftest import IS_ROOT, Bench

SERVICE, STRANGER = 190_002, 190_003
WRITES = """
import os
out = os.environ["GROUNDCREW_OUT"]
os.makedirs(out + "/checkpoints", exist_ok=True)
open(out + "/checkpoints/epoch-0001.weights.h5", "w").write("weights")
print("hello")
"""


def can_read(path: Path, number: int) -> bool:
    """By a process of this user and group, and of no other group."""
    done = subprocess.run(
        ["/bin/cat", path], user=number, group=number, extra_groups=[], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.skipif(not IS_ROOT, reason="only root has jobs run as others")
def test_the_portal_reads_what_a_job_has_left(bench: Bench) -> None:
    plan = bench.script(WRITES, services=(SERVICE, SERVICE))
    assert bench.run(plan).exit_code == 0, bench.shim_log(plan)
    for file in ("out/rank-0.stdout", "out/checkpoints/epoch-0001.weights.h5", "control/exit.json"):
        assert can_read(plan.folder / file, SERVICE), file
        assert not can_read(plan.folder / file, STRANGER), file
