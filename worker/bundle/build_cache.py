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
from worker.bootstrap.terminal import print_sentence
from worker.environments.__main__ import ProgressPrinter
from worker.environments.errors import BuildFailed
from worker.environments.wheels import sync_filesystem

RECIPE = "1"
"""Change it when something must be made anew from the same inputs."""
PATH = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CollectingFailed(Exception):
    """In words for the person who collects: what failed, and where all of it stands."""


@dataclass(frozen=True)
class BuildCache:
    cache: Path
    log: Path
    started: float = field(default_factory=time.monotonic)

    def report(self, english: str, **data: object) -> None:
        """One line of progress, with the seconds since the beginning before it."""
        print_sentence(
            "{seconds:>6.0f} s  {line}", seconds=time.monotonic() - self.started, line=english.format(**data)
        )

    def run(
        self,
        command: Sequence[str | Path],
        *,
        folder: Path | None = None,
        more: Mapping[str, str] | None = None,
    ) -> str:
        """What it printed; raises CollectingFailed with its last line."""
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
            raise CollectingFailed(f"{name} ended with {done.returncode}: {last}\nAll of it is in {self.log}")
        return done.stdout

    def path_for(self, name: str, inputs: Sequence[str | bytes]) -> Path:
        """Where `build_once` leaves it."""
        return self.cache / f"{name}-{_digest(inputs)}"

    def build_once(self, name: str, inputs: Sequence[str | bytes], make: Callable[[Path], None]) -> Path:
        """The folder that `make` fills, made once for the same inputs; interrupted, it begins anew."""
        target = self.path_for(name, inputs)
        if not target.exists():
            self.cache.mkdir(parents=True, exist_ok=True)
            building = target.with_name(f"{target.name}.building")
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            make(building)
            # What has its name is taken as it stands, also after a power failure.
            sync_filesystem(building)
            building.rename(target)
        return target

    @contextmanager
    def report_build(self, what: str) -> Iterator[ProgressPrinter]:
        """Around the build of an environment or an image: it prints its progress and fails as collecting does."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield ProgressPrinter()
        except BuildFailed as failure:
            said = sentence(failure.code, failure.data, "en")
            raise CollectingFailed(f"{what}: {said}\nAll of it is in {self.log}") from failure

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Two collectors of one cache wait for each other."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _path() -> str:
    """The administrator's own first: Go may stand anywhere."""
    return f"{os.environ.get('PATH', '')}:{PATH}"


def _digest(inputs: Sequence[str | bytes]) -> str:
    content = hashlib.sha256(RECIPE.encode())
    for each in inputs:
        content.update(b"\0" + (each.encode() if isinstance(each, str) else each))
    return content.hexdigest()[:12]
