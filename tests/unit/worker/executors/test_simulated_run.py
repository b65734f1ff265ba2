"""A simulated run in time: when it ends, and what its shim leaves behind."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from worker.executors.simulated_run import (
    CUT_MARK,
    GRACE_SECONDS,
    LABEL,
    MOST_LOG_BYTES,
    Behaviour,
    SimulatedRun,
    advance_run,
    begin_simulated_run,
    end_time,
    start_marker,
)


@pytest.fixture
def run(tmp_path: Path) -> SimulatedRun:
    """Of two ranks on two nodes, ready at second 100."""
    (tmp_path / "control").mkdir()
    return SimulatedRun(
        job=7,
        attempt=1,
        folder=str(tmp_path),
        nodes=("a", "b"),
        boots={"a": "1", "b": "2"},
        ranks=2,
        behaviour=Behaviour(seconds=60.0, stdout="hello\n"),
        ready_at=100.0,
        alive=("a", "b"),
    )


def begun(run: SimulatedRun, **changes: Any) -> SimulatedRun:
    behaviour = {key: changes.pop(key) for key in list(changes) if hasattr(run.behaviour, key)}
    started = begin_simulated_run(replace(run, behaviour=replace(run.behaviour, **behaviour)))
    assert started is not None
    return replace(started, **changes)


def exit_record(run: SimulatedRun) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(run.folder) / "control" / "exit.json").read_text())
    return found


def test_it_begins_once_and_says_so(run: SimulatedRun) -> None:
    assert advance_run(run, 99.0) == run
    started = advance_run(run, 100.0)
    assert started is not None and started.began_at == 100.0
    folder = Path(run.folder)
    assert json.loads((folder / "control" / "started").read_text()) == start_marker(run)
    assert (folder / "out" / "launcher.stdout").read_text() == LABEL
    assert (folder / "out" / "rank-1.stdout").read_text() == "hello\n"
    assert begin_simulated_run(run) is None


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({}, 160.0),
        ({"time_limit": 30.0}, 130.0),
        ({"stop_at": 110.0}, 110.0),
        ({"stop_at": 110.0, "ignores_stop": True}, 110.0 + GRACE_SECONDS),
        ({"loses_shim_after": 5.0}, 105.0),
        ({"alive": ("a",)}, float("inf")),  # A gang waits for the part that it has lost.
        ({"alive": ("a",), "time_limit": 200.0}, 300.0),
    ],
)
def test_it_ends_at_the_first_of_its_ends(run: SimulatedRun, changes: dict[str, Any], end: float) -> None:
    assert end_time(begun(run, **changes)) == end


@pytest.mark.parametrize(
    ("changes", "record"),
    [
        ({}, {"exit_code": 0, "signal": None, "stopped": False, "timed_out": False}),
        ({"exit_code": 3}, {"exit_code": 3, "signal": None, "first_failed_rank": 0}),
        ({"time_limit": 30.0}, {"exit_code": 143, "signal": 15, "timed_out": True, "stopped": False}),
        ({"stop_at": 110.0}, {"exit_code": 143, "signal": 15, "stopped": True, "timed_out": False}),
        ({"stop_at": 110.0, "ignores_stop": True}, {"exit_code": 137, "signal": 9, "stopped": True}),
    ],
)
def test_its_last_act_says_how_it_ended(
    run: SimulatedRun, changes: dict[str, Any], record: dict[str, Any]
) -> None:
    started = begun(run, **changes)
    assert advance_run(started, end_time(started) - 1.0) is not None
    assert advance_run(started, end_time(started)) is None
    found = exit_record(run)
    assert {key: found[key] for key in record} == record
    assert [each["rank"] for each in found["ranks"]] == [0, 1]


@pytest.mark.parametrize("changes", [{"loses_shim_after": 5.0}, {"alive": ("b",), "stop_at": 110.0}])
def test_without_its_shim_it_leaves_no_result(run: SimulatedRun, changes: dict[str, Any]) -> None:
    assert advance_run(begun(run, **changes), 200.0) is None
    assert not (Path(run.folder) / "control" / "exit.json").exists()


def test_nothing_is_left_of_it_once_all_its_nodes_are_gone(run: SimulatedRun) -> None:
    assert advance_run(begun(run, alive=()), 101.0) is None


def test_what_it_says_when_it_is_stopped_and_what_its_executor_says(run: SimulatedRun) -> None:
    started = begun(run, stop_at=110.0, stop_output="saved\n", executor_exit_code=9)
    assert advance_run(started, 110.0) is None
    folder = Path(run.folder)
    assert (folder / "out" / "rank-0.stdout").read_text() == "hello\nsaved\n"
    assert json.loads((folder / "control" / "executor.json").read_text()) == {"exit_code": 9}


def test_a_flood_of_log_is_cut_with_a_mark(run: SimulatedRun) -> None:
    started = begun(run, log_bytes_per_second=MOST_LOG_BYTES // 2)
    once = advance_run(started, 101.0)
    assert once is not None and once.output_bytes == MOST_LOG_BYTES // 2
    assert advance_run(once, 101.0) == once
    twice = advance_run(once, 110.0)
    assert twice is not None and twice.output_bytes == MOST_LOG_BYTES
    log = (Path(run.folder) / "out" / "rank-0.stdout").read_bytes()
    assert log.endswith(CUT_MARK) and len(log) == len(b"hello\n") + MOST_LOG_BYTES + len(CUT_MARK)
