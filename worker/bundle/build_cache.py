"""A cache folder in which each product of a build is kept under the hash of its inputs."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster.words.sentences import sentence
from worker.bootstrap.terminal import language_of_terminal, print_sentence, terminal_text
from worker.environments.__main__ import ProgressPrinter
from worker.environments.errors import BuildFailed
from worker.environments.wheels import sync_filesystem

RECIPE = "1"
"""Increase it if products must be made again although their inputs are the same."""
PATH = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CollectingFailed(Exception):
    """Collecting a bundle has failed. The message says, in the terminal's language, what failed and what to do."""

    def __init__(self, english: str, **data: object) -> None:
        super().__init__(terminal_text(english, **data))


@dataclass(frozen=True)
class BuildCache:
    cache: Path
    log: Path
    started: float = field(default_factory=time.monotonic)

    def print_progress(self, english: str, **data: object) -> None:
        """Prints one line in the terminal's language. The seconds since the beginning precede it."""
        seconds = time.monotonic() - self.started
        print_sentence("{seconds:>6.0f} s  {line}", seconds=seconds, line=terminal_text(english, **data))

    def run(
        self,
        command: Sequence[str | Path],
        *,
        folder: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> str:
        """Runs the command and returns its output. Raises CollectingFailed with the last line of the output."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env={**os.environ, "PATH": _path(), "LC_ALL": "C.UTF-8", **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(map(str, command))}\n{done.stdout[-20000:]}{done.stderr}\n")
        if done.returncode != 0:
            said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            last = said[-1].strip()[:300] if said else ""
            name = Path(command[0]).name
            raise CollectingFailed(
                "{name} ended with {code}: {line}\nAll of it is in {log}",
                name=name,
                code=done.returncode,
                line=last,
                log=self.log,
            )
        return done.stdout

    def path_for(self, name: str, inputs: Sequence[str | bytes]) -> Path:
        """The folder in which `build_once` keeps the product."""
        return self.cache / f"{name}-{_digest(inputs)}"

    def build_once(self, name: str, inputs: Sequence[str | bytes], make: Callable[[Path], None]) -> Path:
        """Returns the folder that `make` fills. It is made once for the same inputs; an interrupted call starts
        again.
        """
        target = self.path_for(name, inputs)
        if not target.exists():
            self.cache.mkdir(parents=True, exist_ok=True)
            building = target.with_name(f"{target.name}.building")
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            make(building)
            # A folder with its final name is taken to be complete, so it has to survive a power failure.
            sync_filesystem(building)
            building.rename(target)
        return target

    @contextmanager
    def report_build(self, what: str) -> Iterator[ProgressPrinter]:
        """Yields a function that prints the progress of a build, and turns BuildFailed into CollectingFailed."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield ProgressPrinter()
        except BuildFailed as failure:
            said = sentence(failure.code, failure.data, language_of_terminal())
            raise CollectingFailed(
                "{what}: {line}\nAll of it is in {log}", what=terminal_text(what), line=said, log=self.log
            ) from failure

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Waits for another process that collects into this cache."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _path() -> str:
    """PATH with the administrator's folders first, because Go may be installed anywhere."""
    return f"{os.environ.get('PATH', '')}:{PATH}"


def _digest(inputs: Sequence[str | bytes]) -> str:
    content = hashlib.sha256(RECIPE.encode())
    for each in inputs:
        content.update(b"\0" + (each.encode() if isinstance(each, str) else each))
    return content.hexdigest()[:12]
