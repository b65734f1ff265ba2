"""At the end of an attempt the usage that its ranks wrote is added up."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.jobs.exits import ExitRecord
from tests.unit.worker.inside.test_shim_usage import tell
from worker.executors.rank_usage import with_rank_usage
from worker.inside.shim_usage import RANK_USAGE_FIELDS


def attempt_folder(place: Path, **plan: Any) -> Path:
    for name in ("control", "out"):
        (place / name).mkdir()
    (place / "control" / "plan.json").write_text(json.dumps({"ranks": 3, "units": 3, "gpus": []} | plan))
    return place


def test_at_its_end_what_was_told_last_counts_whoever_is_still_there_to_say_so(tmp_path: Path) -> None:
    folder = attempt_folder(tmp_path)
    assert with_rank_usage(folder, None) is None
    tell(folder / "out", 0, cpu_seconds=30.0)
    tell(folder / "out", 2, cpu_seconds=60.0, max_rss_bytes=5)
    used = with_rank_usage(folder, None)
    assert used == ExitRecord(
        cpu_seconds=90.0, max_rss_bytes=15, average_rss_bytes=15, unit_seconds_used=90.0
    )
    begun = datetime(2026, 11, 22, 12, tzinfo=UTC)
    truth = ExitRecord(7, 1, 1, 0, started_at=begun, ended_at=begun + timedelta(seconds=20), cpu_seconds=0.14)
    used = with_rank_usage(folder, truth)
    assert used is not None and (used.exit_code, used.cpu_seconds, used.unit_seconds_used) == (0, 90.0, 60.0)


def test_what_gpus_did_is_nothing_that_ranks_could_tell(tmp_path: Path) -> None:
    folder = attempt_folder(tmp_path, gpus=["GPU-a"])
    tell(folder / "out", 1, cpu_seconds=30.0)
    used = with_rank_usage(folder, ExitRecord(unit_seconds_used=4.0))
    assert used is not None and (used.cpu_seconds, used.unit_seconds_used) == (30.0, 4.0)


def test_numbers_that_are_far_too_large_are_still_numbers_for_the_database(tmp_path: Path) -> None:
    folder = attempt_folder(tmp_path, ranks=4096, units=10**400)
    for rank in range(4096):
        tell(folder / "out", rank, **dict.fromkeys(RANK_USAGE_FIELDS, 2**48))
    used = with_rank_usage(
        folder, ExitRecord(started_at=datetime.min.replace(tzinfo=UTC), ended_at=datetime.now(UTC))
    )
    assert used is not None and used.max_rss_bytes == 2**60 and used.cpu_seconds == 2.0**60
    tell(folder / "out", 0, cpu_seconds=2**49)
    used = with_rank_usage(folder, None)
    assert used is not None and used.cpu_seconds == 2.0**60 - 2.0**48


@pytest.mark.parametrize("ranks", [0, -1, "3", None, 10**9])
def test_a_plan_that_makes_no_sense_lets_the_shim_speak(tmp_path: Path, ranks: object) -> None:
    folder = attempt_folder(tmp_path, ranks=ranks)
    tell(folder / "out", 0)
    truth = ExitRecord(cpu_seconds=1.0)
    assert with_rank_usage(folder, truth) is truth
