"""Start commands of a build with limits, watch time and disk, and end whatever they leave running."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import worker
from cluster.domain.jobs.unix_ids import UnixIds
from worker.environments.command_runner import PATH, CommandRunner, ignore_tick
from worker.environments.errors import BuildFailed

MEASURE_SECONDS = 5.0
MEASURE_DEADLINE = 60
KILL_TRIES = 20


class LimitReached(BuildFailed):
    """A build took longer than `seconds`, or its files take more than `most` bytes."""


@dataclass(frozen=True)
class BuildLimits:
    """Limits of one build, all its commands together in `seconds`."""

    seconds: float = 2 * 3600.0
    disk_bytes: int = 40 * 1024**3
    file_bytes: int = 8 * 1024**3
    memory_bytes: int = 16 * 1024**3
    """Address space of each process. The machine's memory is protected by the kernel, which ends a build first."""
    processes: int = 1024
    tmp_bytes: int = 4 * 1024**3


@dataclass
class ConfinedCommands:
    """Runs the commands of one build in `folder`, the only one in which they may write."""

    folder: Path
    commands: CommandRunner
    limits: BuildLimits
    ids: UnixIds | None = None
    """The user as which the commands run, and nothing else does. None: the commands keep the rights of this process,
    which is not root.
    """
    hidden: Sequence[Path] = ()
    """Folders of the installation that the commands do not see."""
    shown: Sequence[Path] = ()
    """Folders that the commands may read, below hidden ones or elsewhere."""
    check_room: Callable[[], None] = ignore_tick
    """Raises if the disk has become too full."""
    until: float = field(init=False)
    measured_at: float = field(init=False, default=float("-inf"))

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.limits.seconds

    def run(
        self,
        command: Sequence[str | Path],
        variables: Mapping[str, str],
        on_tick: Callable[[], None],
        on_line: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Returns the last lines of the output. Raises BuildFailed, and whatever `on_tick` raises; then nothing of the
        command runs any more.
        """

        def tick() -> None:
            self.check_limits()
            on_tick()

        given = {
            "PATH": PATH,
            "HOME": str(self.folder),
            "TMPDIR": "/tmp" if self.ids else str(self.folder / "tmp"),
            **variables,
            # Until the command itself begins, Python has to find our own packages.
            "PYTHONPATH": str(Path(worker.__file__).parents[1]),
        }
        launcher = [sys.executable, "-B", "-m", "worker.environments.from_requirements.confined_command"]
        try:
            lines = self.commands.run(
                [*launcher, json.dumps(self.specification()), *command],
                variables=given,
                on_tick=tick,
                on_line=on_line,
                logged=command,
            )
            self.check_limits(is_last=True)
            return lines
        finally:
            self.end_everything()

    def specification(self) -> dict[str, object]:
        limits = {"FSIZE": self.limits.file_bytes, "AS": self.limits.memory_bytes, "CORE": 0}
        limits["CPU"] = max(1, int(self.limits.seconds))
        if self.ids is not None:
            limits["NPROC"] = self.limits.processes
        return {
            "uid": self.ids.uid if self.ids else None,
            "gid": self.ids.gid if self.ids else None,
            "folder": str(self.folder),
            "hidden": [str(folder) for folder in self.hidden],
            "shown": [str(folder) for folder in self.shown],
            "tmp_bytes": self.limits.tmp_bytes,
            "limits": limits,
        }

    def check_limits(self, is_last: bool = False) -> None:
        """Raises LimitReached, and whatever `check_room` raises."""
        now, log = time.monotonic(), str(self.commands.log)
        if now > self.until:
            raise LimitReached("environment.too_slow", seconds=int(self.limits.seconds), log=log)
        if now - self.measured_at < MEASURE_SECONDS and not is_last:
            return
        self.measured_at = now
        if measure_disk_use(self.folder) > self.limits.disk_bytes:
            raise LimitReached("environment.too_large", most=self.limits.disk_bytes, log=log)
        self.check_room()

    def end_everything(self) -> None:
        """Ends processes that have left the command's process group. They are those of the builder's own user."""
        if self.ids is None:
            return
        for _ in range(KILL_TRIES):
            if not has_processes(self.ids.uid):
                return
            signal_all(self.ids)
        raise BuildFailed("environment.not_ended", uid=self.ids.uid, log=str(self.commands.log))


def measure_disk_use(folder: Path) -> int:
    """The bytes of the tree, each hard link once; 0 if it takes too long. `du` can read trees of any depth."""
    try:
        done = subprocess.run(
            ["du", "-sx", "-B1", "--", str(folder)],
            capture_output=True,
            text=True,
            timeout=MEASURE_DEADLINE,
            check=False,
            env={"PATH": PATH, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        return 0
    first = done.stdout.split()
    return int(first[0]) if first and first[0].isdigit() else 0


def has_processes(uid: int) -> bool:
    return any(is_alive_as(path, uid) for path in Path("/proc").iterdir() if path.name.isdigit())


def is_alive_as(process: Path, uid: int) -> bool:
    """The owner is read from `status`, because the folder of a process that hides its memory belongs to root."""
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return False
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    return facts["State"].split()[0] not in ("Z", "X") and str(uid) in facts["Uid"].split()


def signal_all(ids: UnixIds) -> None:
    """Signals from a process of that user: it kills all the others in one call, so that none can fork away."""
    subprocess.run(
        [
            "setpriv",
            f"--reuid={ids.uid}",
            f"--regid={ids.gid}",
            "--clear-groups",
            "--",
            "kill",
            "-KILL",
            "-1",
        ],
        check=False,
        capture_output=True,
        env={"PATH": PATH},
    )
