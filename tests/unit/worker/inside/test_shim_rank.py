"""The wrapper of a rank runs its program, writes its logs and records how it ended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worker.inside import shim_rank
from worker.inside.shim_rank import (
    missing_script,
    open_log,
    punch_log_hole,
    read_rank_number,
    write_exit,
    write_log_line,
)

PROGRAM = Path(shim_rank.__file__)


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, 0),
        ({"RANK": "3"}, 3),
        ({"HOROVOD_RANK": "1", "RANK": "3"}, 1),
        ({"OMPI_COMM_WORLD_RANK": "2"}, 2),
        ({"PMI_RANK": "x", "RANK": "4"}, 4),
        ({"RANK": "-1"}, 0),
    ],
)
def test_the_launcher_numbers_its_ranks(environment: dict[str, str], rank: int) -> None:
    assert read_rank_number(environment) == rank


@pytest.mark.parametrize(
    ("words", "is_missing"),
    [
        (["python", "there.py"], False),
        (["python3", "-u", "missing.py"], True),
        (["/usr/bin/python3.11", "-W", "error", "missing.py"], True),
        (["python", "-W", "missing.py", "there.py"], False),
        (["python", "-m", "missing.py"], False),
        (["python", "-c", "missing.py"], False),
        (["python", "-", "missing.py"], False),
        (["python"], False),
        (["bash", "missing.py"], False),
    ],
)
def test_a_script_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], is_missing: bool
) -> None:
    (tmp_path / "there.py").touch()
    monkeypatch.chdir(tmp_path)
    assert missing_script(words) == ("missing.py" if is_missing else None)


def run(out: Path, *words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(PROGRAM), "--", *words],
        env={"PATH": os.environ["PATH"], "GROUNDCREW_OUT": str(out), **environment},
        check=False,
        timeout=60,
    )
    rank = environment.get("RANK", "0")
    return done.returncode, json.loads((out / f"rank-{rank}.exit.json").read_text())


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -TERM $$", 128 + signal.SIGTERM, signal.SIGTERM)],
)
def test_the_record_says_how_the_program_ended(
    tmp_path: Path, script: str, code: int, number: int | None
) -> None:
    returned, record = run(tmp_path, "sh", "-c", f"echo out; echo err >&2; {script}", RANK="2")
    assert (returned, record["exit_code"], record["signal"], record["rank"]) == (code, code, number, 2)
    assert record["started"] <= record["ended"] and record["pid"] > 1
    assert (tmp_path / "rank-2.stdout").read_text() == "out\n"
    assert (tmp_path / "rank-2.stderr").read_text() == "err\n"
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".stderr", ".stdout"]


@pytest.mark.parametrize(
    ("words", "code"), [(("no-such-program",), 127), (("/etc",), 126), ((sys.executable, "missing.py"), 127)]
)
def test_a_program_that_cannot_be_run_is_told_as_a_shell_does(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    assert run(tmp_path, *words)[0] == code
    assert (tmp_path / "rank-0.stderr").read_text().startswith("groundcrew: ")


def test_a_long_log_loses_its_middle_and_says_so(tmp_path: Path) -> None:
    path, block = tmp_path / "log", 65536
    log = open_log(str(path))
    os.write(log, b"a" * block + b"b" * 14 * block + b"c" * block)
    assert not punch_log_hole(log, limit=2**30)
    before = path.stat()
    is_punched = punch_log_hole(log, limit=4 * block, head=block, tail=block)
    if not is_punched:
        pytest.skip("this file system punches no holes")
    content = path.read_bytes()
    assert content.startswith(b"a" * block) and b"c" * block in content and b"b" not in content[:block]
    assert content.endswith(b"its middle was not kept\n") and len(content) > before.st_size
    assert path.stat().st_blocks < before.st_blocks
    os.close(log)


def test_a_log_is_appended_to_and_never_a_link(tmp_path: Path) -> None:
    for text in ("first", "second"):
        log = open_log(str(tmp_path / "log"))
        write_log_line(log, text)
        os.close(log)
    assert (tmp_path / "log").read_text() == "groundcrew: first\ngroundcrew: second\n"
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with pytest.raises(OSError):
        open_log(str(tmp_path / "link"))


def test_a_record_is_whole_and_a_full_disk_ends_no_rank(tmp_path: Path) -> None:
    write_exit(str(tmp_path), 3, "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["rank-3.exit.json"]
    write_exit(str(tmp_path / "missing"), 3, "{}")
    assert not (tmp_path / "missing").exists()
