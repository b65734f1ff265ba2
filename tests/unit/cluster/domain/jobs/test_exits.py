"""`exit.json` is checked before it is believed, and its numbers have meanings."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.domain.jobs import exits
from cluster.domain.jobs.exits import ExitRecord, RankExit, meaning_of_status, parse_exit_record

WHOLE: dict[str, Any] = {
    "job": 7,
    "attempt": 2,
    "fence": 2,
    "exit_code": 0,
    "signal": None,
    "launcher_exit_code": 0,
    "stopped": False,
    "timed_out": False,
    "out_of_memory": False,
    "ranks": [{"rank": 0, "exit_code": 0, "signal": None}, {"rank": 1, "exit_code": 0, "signal": None}],
    "first_failed_rank": None,
    "left_behind": 0,
    "started_at": "2026-11-20T05:00:00+00:00",
    "ended_at": "2026-11-20T05:01:00.500000+00:00",
    "cpu_seconds": 61.5,
    "max_rss_bytes": 1024,
    "error": None,
}


def test_a_whole_file_is_read() -> None:
    truth = parse_exit_record(json.dumps(WHOLE))
    assert truth == ExitRecord(
        job=7,
        attempt=2,
        fence=2,
        exit_code=0,
        ranks=(RankExit(0, 0), RankExit(1, 0)),
        started_at=datetime(2026, 11, 20, 5, tzinfo=UTC),
        ended_at=datetime(2026, 11, 20, 5, 1, 0, 500000, tzinfo=UTC),
        cpu_seconds=61.5,
        max_rss_bytes=1024,
    )
    assert parse_exit_record(json.dumps(WHOLE).encode()) == truth
    assert truth.is_of(7, 2, 2)
    assert not truth.is_of(7, 2, 3)


def test_a_signal_and_the_shims_own_problem_are_read() -> None:
    truth = parse_exit_record(
        json.dumps(WHOLE | {"exit_code": 137, "signal": 9, "error": "exit.not_started"})
    )
    assert (truth.exit_code, truth.signal, truth.error) == (137, 9, "exit.not_started")


def test_what_it_measured_and_a_lost_loss_are_read() -> None:
    measured = {"results": {"loss/train": [0.5, 2, 1]}, "not_finite": "loss/train"}
    truth = parse_exit_record(json.dumps(WHOLE | measured))
    assert truth.results == {"loss/train": (0.5, 2.0, 1.0)}
    assert truth.not_finite == "loss/train"


@pytest.mark.parametrize(
    "changes",
    [
        {"results": [1]},
        {"not_finite": 1},
        {"job": "7"},
        {"job": True},
        {"job": -1},
        {"job": 1.0},
        {"exit_code": 256},
        {"exit_code": -9},
        {"exit_code": "0"},
        {"signal": 0},
        {"signal": 65},
        {"stopped": 1},
        {"stopped": None},
        {"ranks": {}},
        {"ranks": [1]},
        {"ranks": [{"exit_code": 0}]},
        {"ranks": [{"rank": 0}] * 5000},
        {"first_failed_rank": "1"},
        {"started_at": "yesterday"},
        {"started_at": "2026-11-20T05:00:00"},
        {"started_at": 5},
        {"cpu_seconds": float("nan")},
        {"cpu_seconds": float("inf")},
        {"cpu_seconds": -1},
        {"cpu_seconds": True},
        {"max_rss_bytes": 2**70},
        {"error": 5},
        {"error": "exit.<script>"},
        {"error": "password.missing"},
        {"error": "exit." + "x" * 80},
        {"left_behind": None},
    ],
)
def test_a_file_with_a_wrong_value_is_unreadable(changes: dict[str, Any]) -> None:
    assert parse_exit_record(json.dumps(WHOLE | changes)) == ExitRecord(error="exit.truth_unreadable")


@pytest.mark.parametrize("key", ["job", "exit_code", "stopped", "ranks", "started_at"])
def test_a_file_without_a_key_is_unreadable(key: str) -> None:
    assert (
        parse_exit_record(json.dumps({k: v for k, v in WHOLE.items() if k != key})).error
        == exits.UNREADABLE_RECORD
    )


@pytest.mark.parametrize(
    "content", ["", "null", "[]", "7", "{", b"\xff\xfe", "[" * 100_000, " " * 300_000, '{"job": 7}']
)
def test_what_is_no_such_file_is_unreadable(content: str | bytes) -> None:
    assert parse_exit_record(content).error == exits.UNREADABLE_RECORD


@pytest.mark.parametrize(
    ("exit_code", "signal", "code", "shown"),
    [
        (0, None, "exit.finished", 0),
        (1, None, "exit.error", 1),
        (2, None, "exit.wrong_usage", 2),
        (3, None, "exit.other", 3),
        (126, None, "exit.not_executable", 126),
        (127, None, "exit.command_not_found", 127),
        (128, None, "exit.other", 128),
        (130, None, "exit.interrupt_key", 130),
        (134, None, "exit.aborted", 134),
        (137, None, "exit.killed", 137),
        (137, 9, "exit.killed", 137),
        (None, 9, "exit.killed", 137),
        (139, 11, "exit.segmentation_fault", 139),
        (143, None, "exit.terminated", 143),
        (153, 25, "exit.file_too_large", 153),
        (136, None, "exit.signal", 136),
        (None, 40, "exit.signal", 168),
        (192, None, "exit.signal", 192),
        (193, None, "exit.other", 193),
        (255, None, "exit.other", 255),
    ],
)
def test_the_meaning_of_a_number(exit_code: int | None, signal: int | None, code: str, shown: int) -> None:
    found, data = meaning_of_status(exit_code, signal)
    assert (found, data["exit_code"]) == (code, shown)


def test_no_number_at_all_is_lost() -> None:
    assert meaning_of_status(None) == ("exit.lost", {})
    assert meaning_of_status(None, 40)[1]["signal_name"] == "SIG40"
    assert meaning_of_status(None, 8)[1]["signal_name"] == "SIGFPE"
