"""Bare machines for the tests of this folder, and the table that they write."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.hosts.bare_machine import BareMachine, bare_machine

ROOT = Path(__file__).resolve().parents[2]
IMAGES = Path(os.environ.get("GROUNDCREW_CACHE_DIR") or "/var/cache/groundcrew")
TABLE = ROOT / "docs" / "measurements" / "first-training.md"

NewMachine = Callable[[], BareMachine]


@pytest.fixture(scope="module")
def new_machine() -> Iterator[NewMachine]:
    """Each call is another machine with a fresh clone of this repository in /root/groundcrew."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.fail("these tests need root and debootstrap (apt-get install debootstrap)")
    with ExitStack() as stack:

        def make() -> BareMachine:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gc-bare-", dir="/var/tmp")))
            folder.chmod(0o755)
            machine = stack.enter_context(bare_machine(IMAGES, folder))
            clone = machine.root / "root" / "groundcrew"
            subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
            return machine

        yield make


@pytest.fixture(scope="session")
def write_down() -> Callable[[str, float, float], None]:
    """Adds a line to the table of docs/measurements and fails where the promise was not kept."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()

    def write(what: str, seconds: float, promised: float) -> None:
        verdict = "kept" if seconds <= promised else "broken"
        day = datetime.now(UTC).date().isoformat()
        with TABLE.open("a") as table:
            table.write(f"| {commit} | {day} | {what} | {seconds:.0f} | {promised:.0f} | {verdict} |\n")
        assert seconds <= promised, f"{what}: {seconds:.0f} s, promised {promised:.0f} s"

    return write
