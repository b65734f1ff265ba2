"""A rank tells what it uses, and the shim of a gang over several nodes adds up what was told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
