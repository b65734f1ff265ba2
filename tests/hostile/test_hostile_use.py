"""Nobody who works notices those who attack: half-open requests, streams, bombs, long lines, large and deep bodies."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 960


@pytest.mark.long
def test_who_works_notices_no_attack(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.bench.hostile", "--write"]
    done = subprocess.run(
        command, cwd=ROOT, timeout=MOST_SECONDS, stdout=subprocess.PIPE, text=True, check=False
    )
    with capsys.disabled():
        print(f"\n{done.stdout}")
    missed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert missed == []
    assert done.returncode == 0
