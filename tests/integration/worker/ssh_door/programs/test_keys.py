"""sshd's question about a key has no answer where no door answers: nobody is let in."""

import subprocess
import sys
from pathlib import Path

import pytest

from worker.ssh_door.layout import PROGRAMS

DOOR = Path("/run/sshd/door.sock")


@pytest.mark.parametrize(
    "words", [[], ["job-1"], ["job-1", "SHA256:x"], ["job-" + "1" * 5000, "SHA256:" + "x" * 5000]]
)
def test_without_a_door_no_line_is_printed(words: list[str]) -> None:
    assert not DOOR.exists(), "the door's folder stands there for sshd alone"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(PROGRAMS / "keys.py"), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
