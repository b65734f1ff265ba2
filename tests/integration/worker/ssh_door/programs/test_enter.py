"""What sshd starts for a session says in one line why nobody is let in, and shows no traceback."""

import subprocess
import sys

import pytest

from worker.ssh_door.layout import PROGRAMS


@pytest.mark.parametrize(
    ("words", "command", "said"),
    [
        (["ticket"], "", "does not answer"),
        ([], "", "does not answer"),
        (["ticket"], "x" * 40_000, "too long"),
    ],
)
def test_it_ends_with_a_sentence(words: list[str], command: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(PROGRAMS / "enter.py"), *words],
        env={"SSH_ORIGINAL_COMMAND": command},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 255 and done.stdout == ""
    assert said in done.stderr and "Traceback" not in done.stderr and done.stderr.count("\n") == 1
