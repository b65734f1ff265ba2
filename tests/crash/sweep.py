"""Dies at the n-th point, for every n until none is left; after each death everything has to come right.

Each run begins with the same rows and files. A forked child plays the story and is killed; the next child
is what is started again afterwards: it first gets 15 s of the world's time to put things right, then goes on
with the step in which the first one died, as a client would who saw no answer.
"""

import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import worker.scheduling.reconciler
from cluster import failpoints
from tests.crash.installation import Ground
from tests.crash.invariants.checker import unsettled, violations
from tests.crash.invariants.row_snapshot import Seen, see
from tests.crash.scenario.actors import Stage
from tests.crash.scenario.main_scenario import Step

RIGHT_WITHIN = 15
"""Seconds of the world's time after a death (I7)."""
PATIENCE_SECONDS = 60
"""A child that takes longer hangs."""
WHOLE = os.environ.get("CRASH") == "whole"
"""Everything, as `make crash` asks for; else the fixed part of it that every change has to pass."""
Patch = Callable[[Ground], None]


@dataclass(frozen=True)
class Finding:
    """What one run came to; `point` is where it was killed, None where it survived."""

    number: int
    point: str | None
    wrong: Sequence[str]
    seconds_to_right: float = 0.0


Run = Callable[[Ground, Sequence[Step], int], Finding]


@dataclass
class Report:
    """What a whole sweep came to."""

    title: str
    database: str
    findings: list[Finding] = field(default_factory=list)
    kills: int = 0
    seeds: list[int] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def points(self) -> set[str]:
        return {finding.point for finding in self.findings if finding.point}

    @property
    def wrong(self) -> list[str]:
        return [
            f"{finding.number} ({finding.point}): {sentence}"
            for finding in self.findings
            for sentence in finding.wrong
        ]

    def line(self) -> str:
        slowest = max((finding.seconds_to_right for finding in self.findings), default=0.0)
        seeds = f", seeds {', '.join(map(str, self.seeds))}" if self.seeds else ""
        return (
            f"{self.title} on {self.database}: {len(self.points)} points, {self.kills} kills, "
            f"right again within {slowest:.0f} s, {len(self.wrong)} violations, {self.seconds:.0f} s{seeds}"
        )


class Passes:
    """Listens to the points; at the given one, counted from the birth of the process, it acts."""

    def __init__(self, ground: Ground, number: int | None) -> None:
        self.ground, self.number = ground, number
        self.points: list[str] = []
        self.is_acting = False

    def __call__(self, point: str) -> None:
        if self.is_acting:
            return
        self.points.append(point)
        if len(self.points) == self.number:
            self.is_acting = True
            self.act(point)
            self.is_acting = False

    def act(self, point: str) -> None:
        """Nothing: it only counts."""


class Dies(Passes):
    def act(self, point: str) -> None:
        self.ground.journal.tell("killed", point=point)
        os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], None], log: Path) -> int:
    """The child's exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(start_child(work, log), 0)[1])


def start_child(work: Callable[[], None], log: Path) -> int:
    """A forked process with everything imported already; what it prints goes to the log."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1)
        signal.alarm(PATIENCE_SECONDS)
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, this child must never return into the test.
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def play(
    ground: Ground, story: Sequence[Step], first: int, listener: Passes, patch: Patch | None = None
) -> None:
    """In the child: the story from a step on; before it, unless it is the first step, what has to come right."""
    if patch is not None:
        patch(ground)
    failpoints.listener = listener
    stage = Stage(ground)
    other = another_reader(ground)
    if first >= 0:
        come_right(ground, stage)
    for number, step in enumerate(story):
        if number >= first:
            ground.journal.tell("step", number=number)
            step(stage)
    ground.journal.tell("survived", points=listener.points)
    del other


def another_reader(ground: Ground) -> sqlite3.Connection | None:
    """As there always is one: without it SQLite would tidy its files up after every transaction."""
    if not ground.is_sqlite:
        return None
    connection = sqlite3.connect(ground.cluster.store.url.database or "")
    connection.execute("SELECT count(*) FROM jobs").fetchone()
    return connection


def come_right(ground: Ground, stage: Stage) -> None:
    """Looks after each step of time whether rows and world agree again; tells how long it took."""
    began = ground.world.now()
    wrong = ["nobody has looked yet"]
    while wrong and ground.world.now() - began < RIGHT_WITHIN:
        stage.run(1)
        wrong = unsettled(look(ground), running_in(ground))
    ground.journal.tell("right", seconds=ground.world.now() - began, wrong=wrong)


def running_in(ground: Ground) -> set[tuple[int, int]]:
    with ground.world.lock():
        return {(run.job, run.attempt) for run in ground.world.runs() if run.began_at is not None}


def look(ground: Ground) -> Seen:
    url = ground.cluster.store.url.render_as_string(hide_password=False)
    return see(url, ground.journal.read(), ground.settings.storage_dir)


def one_run(
    ground: Ground, story: Sequence[Step], deaths: Sequence[int], patch: Patch | None = None
) -> Finding:
    """Dies once for each of `deaths`, counted from the birth of each process; then lives to the end."""
    ground.put_back()
    log = ground.folder / "children.log"
    log.unlink(missing_ok=True)
    for number in (*deaths, None):
        steps = [told["number"] for told in ground.journal.read() if told["event"] == "step"]
        first = steps[-1] if steps else -1
        code = in_child(
            lambda first=first, number=number: play(ground, story, first, Dies(ground, number), patch), log
        )
        if code != -signal.SIGKILL:
            break
    told = ground.journal.read()
    wrong = violations(look(ground))
    wrong += [f"not right within {RIGHT_WITHIN} s: {each}" for line in told for each in line.get("wrong", ())]
    wrong += end_of(ground, code, log)
    points = [line["point"] for line in told if line["event"] == "killed"]
    slowest = max((line["seconds"] for line in told if line["event"] == "right"), default=0.0)
    return Finding(sum(deaths), ", ".join(points) or None, wrong, slowest)


def one_death(ground: Ground, story: Sequence[Step], number: int) -> Finding:
    return one_run(ground, story, [number])


def end_of(ground: Ground, code: int, log: Path) -> list[str]:
    """At the end of every story all has ended, and nothing runs."""
    if code != 0:
        return [f"the process ended with {code}: {log.read_text()[-2000:]}"]
    left = [job for job in look(ground).of("jobs") if job["ended_at"] is None and job["state"] != "waiting"]
    return [f"job {job['id']} has not ended" for job in left] + unsettled(look(ground), running_in(ground))


def warm_up(ground: Ground, story: Sequence[Step]) -> None:
    """Once in this process: what SQLAlchemy has compiled, every child inherits."""
    kept = worker.scheduling.reconciler.time
    ground.put_back()
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        play(ground, story, -1, Passes(ground, None))
    failpoints.listener = None
    worker.scheduling.reconciler.time = kept
    ground.put_back()


def list_points(ground: Ground, story: Sequence[Step]) -> list[str]:
    """Every point in the order in which an undisturbed story passes them."""
    finding = one_run(ground, story, [])
    assert not finding.wrong, finding.wrong
    survived: list[str] = ground.journal.read()[-1]["points"]
    return survived


def some_of(numbers: Sequence[int], stride: int) -> Sequence[int]:
    """Each stride-th; all of them where everything is asked for."""
    return numbers if WHOLE else numbers[::stride]


def first_of_each(points: Sequence[str]) -> list[int]:
    """The numbers at which a point is passed for the first time."""
    return [number for number, point in enumerate(points, start=1) if point not in points[: number - 1]]


def sweep(
    ground: Ground, title: str, story: Sequence[Step], numbers: Iterable[int], run: Run = one_death
) -> Report:
    """One run for each number; where the process survives, there are no more points."""
    report, began = Report(title, kind_of(ground)), time.monotonic()
    for number in numbers:
        finding = run(ground, story, number)
        report.findings.append(finding)
        if finding.point is None:
            break
        report.kills += 1
    report.seconds = time.monotonic() - began
    return report


def random_kills(
    ground: Ground, title: str, story: Sequence[Step], seeds: Sequence[int], most: int = 6
) -> Report:
    """Several deaths in one run, at points chosen by the seed."""
    report, began = Report(title, kind_of(ground), seeds=list(seeds)), time.monotonic()
    for seed in seeds:
        chance = random.Random(seed)
        deaths = [chance.randint(1, 120) for _ in range(chance.randint(2, most))]
        finding = one_run(ground, story, deaths)
        report.findings.append(finding)
        report.kills += finding.point.count(",") + 1 if finding.point else 0
    report.seconds = time.monotonic() - began
    return report


def kind_of(ground: Ground) -> str:
    return "SQLite" if ground.is_sqlite else "PostgreSQL"
