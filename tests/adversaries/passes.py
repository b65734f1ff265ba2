"""One move, one pass of scheduler, tasks and repairs, and what changed that must not."""

import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import GroundcrewError
from cluster.domain.states import TaskQueue
from cluster.event_bus import connect_redis
from cluster.services.jobs import stop_requests
from cluster.services.repairs import reclaimable_files
from cluster.store.jobs import Job
from cluster.store.repairs import RepairRun
from tests.adversaries import canaries, images
from tests.adversaries.canaries import Facts
from tests.adversaries.moves import LARGE, Ground, Move
from tests.adversaries.stage import SERVER, WITNESS, Stage
from tests.builders import actor_of
from worker.executors.process import read_shim_handle

PATIENCE = {"job": 10.0, "service": 3.0}
"""Seconds that a job has for beginning or ending: what services can prevent is not waited for."""
STANDS_WITHIN = 10.0
"""Seconds that a move has for its beginning."""
SECRET = re.compile(rb"a secret of (root|a person)'s")


@dataclass(frozen=True)
class Cast:
    """The jobs of one pass: one that sleeps, one of another person, one that is to begin."""

    running: Job
    foreign: Job
    job: Job


@dataclass
class Seen:
    """What a pass has left."""

    changes: list[str]
    """What must not be; empty: all is well."""
    troubles: list[str]
    """What the scheduler could not digest: it begins anew, and nobody is harmed by it but those who wait."""
    refusal: str = ""
    """Why the system did not even let the move be tried."""
    has_run: bool = False
    """Whether the job that was to begin has said as whom it runs."""


LARGE_BYTES = 96 * 1024**2
CODE = [*((f"part_{number:02}.py", "x = 1\n" * 200) for number in range(40)), (LARGE, LARGE_BYTES)]
"""So that its copy takes a moment."""


def cast(stage: Stage, move: Move) -> Cast:
    """Both that run have begun when this returns."""
    running, foreign = stage.sleeper(stage.training), stage.sleeper(stage.other_training)
    assert stage.until(lambda: stage.is_awake(running) and stage.is_awake(foreign)), stage.troubles
    job = stage.submit(stage.training, WITNESS, CODE if move.races else (), **stage.held())
    return Cast(running, foreign, job)


def ground_of(stage: Stage, parts: Cast, uid: int) -> Ground:
    running, training = stage.folder_of(parts.running), stage.training
    shim = read_shim_handle(running)
    assert shim is not None
    settings = stage.settings
    code = settings.storage_dir / "workspaces" / str(training.workspace_id) / "code" / str(training.id)
    return Ground(
        state=str(settings.state_dir),
        storage=str(settings.storage_dir),
        workspace=training.workspace_id,
        job=parts.job.id,
        attempt=1,
        code=str(code / str(parts.job.code_version)),
        running=str(running),
        resumed=parts.running.id,
        shim=shim["pid"],
        foreign=str(stage.folder_of(parts.foreign)),
        cache=str(settings.cache_dir),
        images=str(stage.images),
        roots=tuple(map(str, stage.roots)),
        sockets=tuple(map(str, stage.sockets)),
        elsewhere=parts.foreign.workspace_id,
        outside=str(stage.outside),
        processes=tuple(process.pid for process in stage.processes),
        witness=str(stage.ground / "witness"),
        program=str(stage.ground / "program.py"),
        database=stage.database,
        redis=stage.redis,
        uid_base=settings.uid_base,
        gid_base=settings.gid_base,
        uid=uid,
    )


@contextmanager
def acting(
    adversary: str, move: Move, ground: Ground, uid: int, gid: int, tree: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """The adversary, whose move stands; it ends with the body. Raises AssertionError where it could do too much."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-B", "-m", "tests.adversaries.play", adversary, move.name],
        cwd=tree,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        user=uid,
        group=gid,
        extra_groups=[gid],
        umask=0o022,
    )
    assert process.stdin and process.stdout and process.stderr
    try:
        process.stdin.write(ground.to_json().encode() + b"\n")
        process.stdin.flush()
        select.select([process.stdout], [], [], STANDS_WITHIN)
        yield process
        process.wait(STANDS_WITHIN)
        told = process.stderr.read().decode()
        assert process.returncode in (0, -signal.SIGKILL), f"{move.name}: {told[-2000:]}"
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                pipe.close()


def play(
    stage: Stage, adversary: str, move: Move, tree: Path, operate: Callable[[Stage], None] | None = None
) -> Seen:
    """`tree`: where the files of the moves lie, readable by everybody; `operate` runs what the rows ask for."""
    parts = cast(stage, move)
    uid, gid = (stage.uid, stage.gid) if adversary == "job" else stage.service
    ground = ground_of(stage, parts, uid)
    watched = watch(stage, parts, uid)
    before, living = watched.look(), who_lives(stage)
    with acting(adversary, move, ground, uid, gid, tree) as process:
        stage.let_go(parts.job)
        pass_once(stage, parts, move, PATIENCE[adversary] * stage.slowness)
        if adversary == "service":
            (operate or run_operations)(stage)
        taken = build_image(stage) if move.builds else []
        assert process.stdin and process.stdout
        process.stdin.close()
        refusal = process.stdout.read().decode()
    changes = canaries.differences(before, watched.look())
    changes += [f"ended or stopped: process {pid} of {user}" for pid, user in dead(stage, living)]
    changes += taken + wrong_users(stage) + special_files(stage, uid) + leaked(stage)
    return Seen(changes, stage.troubles, refusal.partition("refused ")[2].strip(), has_run(stage, parts))


def pass_once(stage: Stage, parts: Cast, move: Move, patience: float) -> None:
    """`patience`: seconds for each job, some of which can no more begin or end."""
    if move.resumes and (shim := read_shim_handle(stage.folder_of(parts.running))) is not None:
        with suppress(ProcessLookupError):
            os.kill(shim["pid"], signal.SIGKILL)
        stage.until(lambda: stage.has_begun(parts.running, 2) or stage.is_over(parts.running), patience)
    stage.until(lambda: stage.is_over(parts.job) or stage.was_refused(), patience)
    with suppress(Exception):
        stop_requests.stop_job(stage.cluster, actor_of(stage.person), parts.running.id)
    stage.until(lambda: stage.is_over(parts.running), patience)
    stage.turn(does_all=True)
    for attempt in (parts.running, parts.job):
        stage.services.ask(stage.settings, "results", folder=str(stage.folder_of(attempt)))


def build_image(stage: Stage) -> list[str]:
    """As site.yml does; what root would take from the services into it though nobody has pinned it."""
    images.build_images(stage.settings.cache_dir, stage.images)
    return images.packages_of_others(stage.images)


@dataclass(frozen=True)
class Watch:
    """Paths of which nothing may change, without what the adversary may change by itself."""

    whole: list[Path]
    shallow: list[Path]
    """Their owner and mode alone."""
    own: frozenset[str]

    def look(self) -> Facts:
        found = canaries.look_at(self.whole) | canaries.look_at(self.shallow, without=self.shallow)
        return {path: facts for path, facts in found.items() if not self.is_own(path)}

    def is_own(self, path: str) -> bool:
        return any(str(each) in self.own for each in (Path(path), *Path(path).parents))


def run_operations(stage: Stage) -> None:
    """Those of the rows and those of the queues; then root deletes what a repair has listed."""
    stage.turn(does_all=True)
    connection = connect_redis(stage.settings.redis_url)
    try:
        waiting = [name.decode() for name in connection.keys("rq:queue:*")]
        for queue in (TaskQueue.GENERAL, TaskQueue.BACKUPS):
            if f"rq:queue:{queue}" in waiting:
                stage.services.ask(stage.settings, "tasks", queue=queue)
        stage.services.ask(stage.settings, "repairs")
    finally:
        connection.flushall()
        connection.close()
    with stage.cluster.store.read() as session:
        runs = [run.id for run in session.query(RepairRun)]
    for run in runs:
        with suppress(GroundcrewError, OSError):
            reclaimable_files.delete_reclaimable_of_run(stage.cluster, run)


def watch(stage: Stage, parts: Cast, uid: int) -> Watch:
    foreign, running = stage.folder_of(parts.foreign), stage.folder_of(parts.running)
    whole = [*stage.whole, foreign / "out" / "work", foreign / "control" / "plan.json"]
    home = stage.settings.storage_dir / "workspaces"
    workspaces = [home / str(job.workspace_id) for job in (parts.running, parts.foreign)]
    shallow = [
        *stage.shallow,
        *(home, *workspaces, foreign, foreign / "control", foreign / "out", running),
        *(folder / name for folder in workspaces for name in ("code", "datasets", "jobs")),
    ]
    own = {path for path in canaries.look_at([stage.ground]) if owner_of(path) == uid}
    return Watch(whole, shallow, frozenset(own))


def who_lives(stage: Stage) -> dict[int, str]:
    return {process.pid: canaries.started_at(process.pid) for process in stage.processes}


def dead(stage: Stage, before: dict[int, str]) -> list[tuple[int, str]]:
    names = dict(zip((process.pid for process in stage.processes), ("root", "a person"), strict=True))
    return [(pid, names[pid]) for pid, ticks in before.items() if canaries.started_at(pid) != ticks]


def witnesses(stage: Stage) -> Iterator[tuple[Path, os.stat_result]]:
    for root, _, names in os.walk(stage.ground):
        for name in names:
            if name.startswith("ran-"):
                path = Path(root, name)
                yield path, path.lstat()


def wrong_users(stage: Stage) -> list[str]:
    """Programs that ran as somebody who is no user of the installation's jobs, or in a group of others."""
    found, base = [], stage.settings.uid_base
    known = range(base, base + 2**20)
    for path, status in witnesses(stage):
        told = json.loads(path.read_text() or "{}")
        groups = {*told.get("gid", ()), *told.get("groups", ())}
        if status.st_uid not in known and not (status.st_uid == stage.service[0] and stage.layout is SERVER):
            found.append(f"ran: a program as {status.st_uid} ({path.name})")
        elif status.st_uid in known and any(group not in known for group in groups):
            found.append(f"ran: a program of {status.st_uid} in the groups {sorted(groups)} ({path.name})")
    return found


def status_of(path: str) -> os.stat_result | None:
    """None where it has gone meanwhile."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def owner_of(path: str) -> int:
    status = status_of(path)
    return -1 if status is None else status.st_uid


def special_files(stage: Stage, uid: int) -> list[str]:
    """Programs that would run as somebody else than who made them."""
    found = []
    for root, _, names in os.walk(stage.ground):
        for name in names:
            status = status_of(path := os.path.join(root, name))
            if status is None:
                continue
            is_special = stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_ISUID | stat.S_ISGID)
            if is_special and status.st_uid != uid and not path.startswith(str(stage.outside)):
                found.append(f"made: {path} is {stat.filemode(status.st_mode)} of {status.st_uid}")
    return found


def leaked(stage: Stage) -> list[str]:
    """Files of the storage, or of images, in which stands what nobody but root and a person may read."""
    found = []
    folders = (stage.settings.storage_dir, stage.images)
    for root, _, names in (each for folder in folders for each in os.walk(folder)):
        for name in names:
            path = Path(root, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_size < 65536 and SECRET.search(path.read_bytes()):
                found.append(f"copied: a secret stands in {path}")
    return found


def has_run(stage: Stage, parts: Cast) -> bool:
    out = stage.folder_of(parts.job) / "out"
    return any(path.is_relative_to(out) for path, _ in witnesses(stage))
