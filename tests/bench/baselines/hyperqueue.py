"""HyperQueue from PyPI: its Python bindings carry the real server and worker. No journal, so not durable."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("hyperqueue_process.py")


@dataclass
class HyperQueue:
    process: "subprocess.Popen[str]"
    out: Path

    def run(
        self,
        argv: Sequence[str],
        tasks: int = 1,
        stdout: Path | None = None,
        last: Path | None = None,
        wait: bool = True,
    ) -> Any:
        """{begun, accepted, ended}: seconds since the epoch, as the client in that process saw them."""
        files = {"stdout": str(stdout) if stdout else None, "last": str(last) if last else None}
        order = {"argv": list(argv), "tasks": tasks, "wait": wait, **files}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def submissions(self, count: int) -> float:
        """Jobs of one task each, one after another. Per second, seen from the client."""
        took = 0.0
        for _ in range(count):
            answer = self.run(["/bin/true"], wait=False)
            took += answer["accepted"] - answer["begun"]
        return count / took


@contextmanager
def hyperqueue(environment: Path, slots: int, out: Path) -> Iterator[HyperQueue]:
    """`environment` is the one that requirements/bench.txt describes."""
    command = [str(environment / "bin" / "python"), "-P", str(PROGRAM), str(slots)]
    with (out / "hyperqueue.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=out
        )
    assert process.stdin and process.stdout
    if not process.stdout.readline():
        raise RuntimeError((out / "hyperqueue.log").read_text())
    try:
        yield HyperQueue(process, out)
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def version(environment: Path) -> str:
    code = "import importlib.metadata as m; print(m.version('hyperqueue'))"
    python = str(environment / "bin" / "python")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return f"HyperQueue {done.stdout.strip()}"
