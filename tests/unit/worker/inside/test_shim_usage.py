"""A rank tells what it uses, and the shim of a gang over several nodes adds up what was told."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.jobs.exits import ExitRecord
from worker.executors.rank_usage import with_rank_usage
from worker.inside import shim_files, shim_usage
from worker.inside.shim_usage import RANK_USAGE_FIELDS

INSIDE = Path(__file__).parents[4] / "worker" / "inside"
RANK = INSIDE / "shim_rank.py"
BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def tell(out: Path, rank: int, **said: Any) -> None:
    told: dict[str, Any] = dict.fromkeys(RANK_USAGE_FIELDS, 10) | said
    (out / f"rank-{rank}.use.json").write_text(json.dumps(told))


def gang(out: Path, ranks: int = 3) -> shim_usage.GangUsageMeter:
    return shim_usage.GangUsageMeter(
        {"out": str(out), "ranks": ranks, "units": ranks}, shim_files.read_untrusted_json
    )


@pytest.mark.parametrize(("words", "is_told"), [(["told", "--"], True), (["--"], False)])
def test_a_rank_tells_what_its_program_used_where_it_is_asked_to(
    tmp_path: Path, words: list[str], is_told: bool
) -> None:
    environment = os.environ | {"GROUNDCREW_OUT": str(tmp_path), "HOROVOD_RANK": "2", "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, RANK, *words, sys.executable, "-c", BURN], env=environment)
    assert done.returncode == 0
    file = tmp_path / "rank-2.use.json"
    assert file.exists() is is_told
    if is_told:
        told = json.loads(file.read_text())
        assert 0.3 <= told["cpu_seconds"] < 5 and told["rss_bytes"] == 0
        assert 5_000_000 < told["average_rss_bytes"] <= told["max_rss_bytes"] < 200_000_000


def test_a_look_that_fails_does_not_take_the_rank_along(tmp_path: Path) -> None:
    def fail(_: int) -> None:
        raise OSError("too many open files")

    use = shim_usage.RankUsage(str(tmp_path), 0, fail, shim_files.write_json_atomically)
    use.measure()
    assert list(tmp_path.iterdir()) == []
    use.finish()
    assert json.loads((tmp_path / "rank-0.use.json").read_text())["rss_bytes"] == 0


def test_a_gang_has_used_what_its_ranks_have_told(tmp_path: Path) -> None:
    tell(tmp_path, 0, cpu_seconds=1.25, max_rss_bytes=100, average_rss_bytes=60)
    tell(tmp_path, 2, cpu_seconds=2.5, max_rss_bytes=200, average_rss_bytes=50)
    usage = gang(tmp_path)
    usage.began -= 100
    usage.measure([], 77.0)
    assert usage.rss_bytes == 20
    assert usage.to_json() == {
        "cpu_seconds": 3.75,
        "max_rss_bytes": 300,
        "average_rss_bytes": 110,
        "unit_seconds_used": 3.75,
    }
    tell(tmp_path, 1, cpu_seconds=1)
    usage.measure([], 77.0)
    assert usage.to_json()["cpu_seconds"] == 3.75, "the storage is not asked at each look"
    usage.finish(77.0, 10**12)
    assert usage.to_json()["cpu_seconds"] == 4.75 and usage.to_json()["max_rss_bytes"] == 310


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cpu_seconds": "1"}', '{"cpu_seconds": -1}', '{"cpu_seconds": Infinity}']
)
def test_of_ranks_that_told_nothing_nothing_is_said(tmp_path: Path, text: str) -> None:
    whole = json.dumps(dict.fromkeys(RANK_USAGE_FIELDS, 1))
    (tmp_path / "rank-0.use.json").write_text(text.replace("}", ", " + whole[whole.index(":") + 4 :]))
    usage = gang(tmp_path, 1)
    usage.finish(1.0, 1)
    assert set(usage.to_json().values()) == {None}


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
