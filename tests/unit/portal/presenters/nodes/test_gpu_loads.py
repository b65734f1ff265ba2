"""The loads of a job's GPUs are those of its newest attempt while it runs."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.domain.nodes.gpu_load import GpuLoad
from cluster.domain.states import JobState
from portal.presenters.nodes.gpu_loads import gpu_loads_of_job

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "is_newest", "silent", "shown"),
    [
        (JobState.RUNNING, True, 0, [GpuLoad(0.5)]),
        (JobState.RUNNING, True, 60, []),
        (JobState.RUNNING, False, 0, []),
        (JobState.FINISHED, True, 0, []),
    ],
)
def test_only_what_runs_and_answers_has_a_load(
    state: JobState, is_newest: bool, silent: int, shown: list[GpuLoad]
) -> None:
    node = SimpleNamespace(
        heartbeat_at=NOW - timedelta(seconds=silent), draining_since=None, lost_at=None, has_executor=True,
        booted_at=None, facts={"gpu_load": {"GPU-1": {"percent": 50}}},
    )  # fmt: skip
    units = [SimpleNamespace(identity=name, node=node) for name in ("GPU-1", "GPU-2")]
    view: Any = SimpleNamespace(job=SimpleNamespace(state=state), is_newest=is_newest, units=units, now=NOW)
    assert [load for _, load in gpu_loads_of_job(view)] == shown
