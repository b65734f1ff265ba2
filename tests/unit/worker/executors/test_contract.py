"""What a start plan tells the shim, and why a start may have failed."""

import errno
from pathlib import Path

import pytest

from tests.start_plans import a_start_plan, change_plan
from worker.executors.contract import DISK_FULL, SandboxSpec, StartPlan, start_problem_of

PLAN = a_start_plan(7, 2, Path("/storage/jobs/7/2"), ("true",), {"A": "1"}, uid=100_003, gid=100_004)


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (PLAN, {"job": 7, "attempt": 2, "fence": 2, "argv": ["true"], "environment": {"A": "1"}}),
        (PLAN, {"uid": 100_003, "gid": 100_004, "readers_gid": None, "sandbox": None, "telemetry": None}),
        (PLAN, {"out": "/storage/jobs/7/2/out", "cwd": "/storage/jobs/7/2/out", "code": None}),
        (
            change_plan(PLAN, code=Path("/code"), folder_inside=Path("/inside")),
            {"out": "/inside/out", "cwd": "/inside/out/work", "code": "/code"},
        ),
        (change_plan(PLAN, services=(5, 6)), {"readers_gid": 6}),
        (
            change_plan(PLAN, nodes=("a", "b"), units=3, ranks=3, gpus=("GPU-1",), gpu_minors={"GPU-1": 4}),
            {"nodes": 2, "units": 3, "ranks": 3, "gpus": ["GPU-1"], "gpu_minors": {"GPU-1": 4}},
        ),
        (
            change_plan(PLAN, memory_bytes=9, most_processes=8, time_limit_seconds=7, grace_seconds=6),
            {"memory_bytes": 9, "most_processes": 8, "time_limit_seconds": 7, "grace_seconds": 6},
        ),
        (
            change_plan(
                PLAN, memory_bytes=9, sandbox=SandboxSpec((Path("/state"),), (Path("/data"),), (1, 2))
            ),
            {
                "sandbox": {
                    "hidden": ["/state"],
                    "shown": ["/data"],
                    "written": [],
                    "uids": [1, 2],
                    "memory_bytes": 9,
                }
            },
        ),
    ],
)
def test_the_shim_is_told(plan: StartPlan, told: dict[str, object]) -> None:
    written = plan.to_json()
    assert {name: written[name] for name in told} == told


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, DISK_FULL),
        (errno.EDQUOT, DISK_FULL),
        (errno.EACCES, "start.failed"),
        (None, "start.failed"),
    ],
)
def test_a_full_disk_is_no_fault_of_the_node(number: int | None, code: str) -> None:
    problem = start_problem_of("why", number)
    assert (problem.code, problem.data) == (code, {"reason": "why"})
