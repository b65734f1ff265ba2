"""A program in a terminal of its own, as a person has it before them."""

import codecs
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

WITHIN = 120.0
"""Seconds for whatever is expected next."""


class Terminal:
    """What is read is kept whole in `seen`; `expect` goes on behind what it found the last time."""

    def __init__(self, handle: int, process: "subprocess.Popen[bytes]") -> None:
        self.handle, self.process = handle, process
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.seen = ""
        self.read_to = 0

    def expect(self, text: str) -> str:
        """What was said up to and with this text."""
        deadline = time.monotonic() + WITHIN
        while (found := self.seen.find(text, self.read_to)) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.seen[self.read_to :]}"
            ready, _, _ = select.select([self.handle], [], [], 1.0)
            if ready and not self.read():
                raise AssertionError(f"ended before {text!r}:\n{self.seen[self.read_to :]}")
        said = self.seen[self.read_to : found + len(text)]
        self.read_to = found + len(text)
        return said

    def read(self) -> bool:
        """False once the program has closed its end."""
        try:
            chunk = os.read(self.handle, 4096)
        except OSError:
            return False
        self.seen += self.decoder.decode(chunk)
        return bool(chunk)

    def type(self, text: str) -> None:
        os.write(self.handle, f"{text}\n".encode())

    def press_ctrl_c(self) -> None:
        os.write(self.handle, b"\x03")


@contextmanager
def a_terminal(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Terminal]:
    """Its own session with a controlling terminal, so that Ctrl-C reaches the program."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *command], stdin=theirs, stdout=theirs, stderr=theirs,
        env=dict(environment), start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        os.close(ours)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
