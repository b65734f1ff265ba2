"""Plays moves of the services' user on an installed master: ``python -m tests.adversaries.installed TREE [NAME …]``.

As root, with the settings of the scheduler. Scheduler, task workers, repairs, PostgreSQL and Redis are the host's own;
the moves run as `groundcrew`, with the name and the password by which task workers speak to Redis. Each move and what
it has changed is a line of JSON. What a move leaves in rows, Redis and folders of the services is taken away before the
next one; constraints of the database, which it may have dropped, do not come back. `compare` in the place of TREE says
what is different on the machine since before the first move.
"""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from cluster.domain.states import TrainingKind
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.jobs import Job
from tests.adversaries import canaries, images, passes
from tests.adversaries.moves import WITHOUT_CONSTRAINTS, Move
from tests.adversaries.service_moves import MOVES
from tests.adversaries.stage import PERSON, WITNESS, Layout, Services, Stage, make, make_outside
from tests.builders import a_training, a_user, a_workspace
from worker.composition import open_cluster

SERVICES = (
    *("groundcrew-portal.socket", "groundcrew-stream.socket", "groundcrew-portal", "groundcrew-stream"),
    *("groundcrew-scheduler", "groundcrew-ssh", "groundcrew-agent"),
    *("groundcrew-repair-run.socket", "groundcrew-repair"),
    *("groundcrew-worker@general", "groundcrew-worker@images", "groundcrew-worker@backups"),
)
STATE = Path("/var/lib/groundcrew")
IMAGES = Path("/var/cache/groundcrew-images")
OF_THE_MACHINE = (
    *(Path("/", name) for name in ("boot", "etc", "home", "opt", "root", "srv")),
    *(
        Path("/usr", name)
        for name in ("bin", "sbin", "local", "lib/systemd", "lib/x86_64-linux-gnu/security")
    ),
    *(Path("/var", name) for name in ("backups", "cache/groundcrew", "lib/dpkg", "mail", "opt", "spool")),
    IMAGES,
)
"""Looked at before the first move and after the last one."""
BEFORE = Path("/var/tmp/groundcrew-before-moves.json")
FOLDERS_WITHIN, PULSE_WITHIN, RUNS_WITHIN, OPERATES_WITHIN, CALM_WITHIN = 30.0, 60.0, 90.0, 4.0, 30.0
"""Seconds; what the services can prevent is not waited for longer than this."""
KEPT = "kept_by_the_test"
OF_A_MOVE = re.compile(r"wheels-(.)\1{11}")
"""Packages that a move has made: no hash is like that."""
LIVES = "select count(*) from attempts where ended_at is null"
UNDER_WAY = "select count(*) from operations where state in ('requested', 'running')"
PULSE = "select value->>'at' from installation_facts where name = 'scheduler_stats'"


@dataclass
class Installed(Stage):
    """The same jobs and the same looks as on a stage; turns are the real scheduler's."""

    began: float = field(default_factory=time.time)

    @property
    def uid(self) -> int:
        return self.settings.uid_base + self.person.id

    @property
    def images(self) -> Path:
        return IMAGES

    @property
    def roots(self) -> tuple[Path, ...]:
        names = ("cache/groundcrew", "cache/groundcrew-images", "lib/groundcrew/runtime")
        return *(Path("/var", name) for name in names), Path("/opt/groundcrew"), Path("/etc/groundcrew")

    @property
    def sockets(self) -> tuple[Path, ...]:
        names = ("groundcrew/repair-run.sock", "docker.sock", "containerd/containerd.sock", "systemd/private")
        return tuple(Path("/run", name) for name in names)

    @property
    def whole(self) -> list[Path]:
        return [self.outside, self.settings.runtime_dir, STATE / "repairs", Path("/etc")]

    @property
    def shallow(self) -> list[Path]:
        names = (
            "log",
            "backups",
            "witness",
            "storage",
            "audit",
            "program.py",
            "ballast",
            "repair",
            "run",
            "telemetry",
        )
        return [self.ground, *(self.ground / name for name in names), *self.roots, self.settings.cache_dir]

    @property
    def database(self) -> str:
        return "postgresql:///groundcrew?user=groundcrew"

    @property
    def redis(self) -> str:
        return redis_of("tasks")

    @property
    def slowness(self) -> float:
        return 5.0

    @property
    def service(self) -> tuple[int, int]:
        user = pwd.getpwnam(self.settings.service_user)
        return user.pw_uid, user.pw_gid

    def until(self, condition: Callable[[], Any], seconds: float = RUNS_WITHIN) -> bool:
        return super().until(condition, seconds)

    def held(self) -> dict[str, Any]:
        """More units than the workspace has: the scheduler would start the job before the move stands."""
        return {"units": 64}

    def let_go(self, job: Job) -> None:
        ask(f"update jobs set units = 1 where id = {job.id}")

    def turn(self, does_all: bool = False) -> None:
        """The scheduler turns by itself."""

    def was_refused(self) -> bool:
        """Whether the scheduler has said since this began that an attempt was not started."""
        words = ["journalctl", "--quiet", "--unit=groundcrew-scheduler", f"--since=@{self.began:.0f}"]
        done = subprocess.run([*words, "--grep=not started", "--lines=1"], capture_output=True, check=False)
        return done.returncode == 0 and bool(done.stdout)


def redis_of(service: str) -> str:
    lines = Path(f"/etc/groundcrew/{service}.env").read_text().splitlines()
    name = "GROUNDCREW_REDIS_URL="
    return next(line.removeprefix(name) for line in lines if line.startswith(name))


def ask(statement: str) -> str:
    """As the owner of PostgreSQL."""
    words = [
        "runuser",
        "-u",
        "postgres",
        "--",
        "psql",
        "--no-psqlrc",
        "-Atq",
        "-v",
        "ON_ERROR_STOP=1",
        "groundcrew",
    ]
    done = subprocess.run(words, input=statement, capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def operate(stage: Stage) -> None:
    """Task workers and repairs of the host do what the rows ask for."""
    until(lambda: ask(UNDER_WAY) == "0", OPERATES_WITHIN)


# What a move leaves.

ROWS = ("leases", "audit_entries", "audit_seals", "alembic_version", "node_tokens")
"""Tables that stay as they are: they only grow, or the services write them all the time."""


def keep_rows() -> list[str]:
    tables = ask("select tablename from pg_tables where schemaname = 'public'").split()
    kept = [table for table in tables if table not in ROWS]
    copies = [f"create table {KEPT}.{table} as table public.{table};" for table in kept]
    ask(f"drop schema if exists {KEPT} cascade; create schema {KEPT}; {' '.join(copies)}")
    return kept


def put_rows_back(tables: list[str]) -> None:
    """All at once, whatever refers to what, while no service has the database: a moment for which each waits."""
    back = [
        f"delete from public.{table}; insert into public.{table} table {KEPT}.{table};" for table in tables
    ]
    # An agent that was heard of so long ago would be given up.
    back.append("update public.nodes set heartbeat_at = now();")
    ask("alter role groundcrew nologin; alter role groundcrew_sealer nologin")
    try:
        ask("select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename like 'groundcrew%'")
        ask(f"begin; set local session_replication_role = replica; {' '.join(back)} commit;")
    finally:
        ask("alter role groundcrew login; alter role groundcrew_sealer login")


def clear(stage: Stage, tables: list[str]) -> str:
    """Names of the services that had ended and would not come back by themselves."""
    subprocess.run(["systemctl", "stop", "gc-*.service"], check=False, capture_output=True)
    put_rows_back(tables)
    connection = redis.Redis.from_url(stage.redis)
    for key in (*connection.scan_iter("rq:queue*"), *connection.scan_iter("rq:job:*"), b"ev"):
        connection.delete(key)
    connection.close()
    access = STATE / "log" / "access"
    if access.is_symlink():
        access.unlink()
        (STATE / "log" / "was").rename(access)
    for folder in (STATE / "log", access, STATE / "backups", stage.settings.cache_dir):
        for path in folder.iterdir():
            is_ours = path.name in ("ours", "aside", "was", "images") or OF_A_MOVE.fullmatch(path.name)
            if path.is_symlink():
                path.unlink()
            elif (
                is_ours
                and path.is_dir()
                and not path.is_mount()
                and path.owner() == stage.settings.service_user
            ):
                shutil.rmtree(path)
    for path in (STATE / "witness").iterdir():
        path.unlink()
    shown = subprocess.run(
        ["systemctl", "show", "--property=Id,ActiveState", *SERVICES],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ended = [part.split("Id=")[1].split()[0] for part in shown.split("\n\n") if "ActiveState=failed" in part]
    subprocess.run(["systemctl", "reset-failed"], check=True)
    subprocess.run(["systemctl", "start", *SERVICES], check=True)
    until(lambda: ask(LIVES) == "0", CALM_WITHIN)
    return " ".join(ended)


@contextmanager
def a_site(cluster: Cluster, services: Services) -> Iterator[Installed]:
    """Two people with a workspace each, which nobody has touched yet."""
    mark = os.urandom(3).hex()
    person, other = a_user(cluster, f"taken-{mark}"), a_user(cluster, f"other-{mark}")
    workspace = a_workspace(cluster, person, units=8, name=f"taken-{mark}")
    elsewhere = a_workspace(cluster, other, units=8, name=f"other-{mark}")
    layout = Layout("server", pwd.getpwnam(cluster.settings.service_user).pw_uid)
    words = {"kind": TrainingKind.ADVANCED}
    site = Installed(
        ground=STATE,
        layout=layout,
        cluster=cluster,
        services=services,
        launcher=None,  # type: ignore[arg-type]
        person=person,
        training=a_training(cluster, workspace, **words),  # type: ignore[arg-type]
        other_training=a_training(cluster, elsewhere, **words),  # type: ignore[arg-type]
        executor=None,  # type: ignore[arg-type]
        scheduler=None,  # type: ignore[arg-type]
    )
    for user in (0, PERSON):
        site.processes.append(subprocess.Popen(["/bin/sleep", "600"], user=user, group=user, extra_groups=[]))
    try:
        made = [folders.workspace_folder(cluster.settings, each.id) for each in (workspace, elsewhere)]
        assert until(lambda: all(folder.is_dir() for folder in made), FOLDERS_WITHIN), "no folders were made"
        yield site
    finally:
        for process in site.processes:
            process.kill()
            process.wait()


def clear_images() -> None:
    images.clear_images(IMAGES)
    for name in (".training.lock", "build.log"):
        (IMAGES / name).unlink(missing_ok=True)


def look_at_the_machine() -> canaries.Facts:
    """Of Ansible's own environment, thousands of files that a test host has lent, the folder alone."""
    return canaries.look_at(OF_THE_MACHINE, Path("/var/cache/groundcrew").glob("ansible-*"))


def say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def play_all(cluster: Cluster, services: Services, moves: list[Move], tree: Path) -> None:
    ask(WITHOUT_CONSTRAINTS)
    tables = keep_rows()
    for move in moves:
        began = time.monotonic()
        with a_site(cluster, services) as site:
            try:
                seen = passes.play(site, "service", move, tree, operate)
                changes, has_run = seen.changes, seen.has_run
            except (AssertionError, OSError) as error:
                changes, has_run = [f"not played: {type(error).__name__}: {error}"[:3000]], False
            clear_images()
            ended = clear(site, tables)
        seconds = round(time.monotonic() - began, 1)
        say(move=move.name, changes=changes, has_run=has_run, ended=ended, seconds=seconds)


def compare() -> None:
    """After one more pulse of the scheduler, with all that it does now and then."""
    last = ask(PULSE)
    is_alive = until(lambda: ask(PULSE) not in ("", last), PULSE_WITHIN)
    before = json.loads(BEFORE.read_text())
    say(machine=canaries.differences(before, look_at_the_machine()), is_alive=is_alive)


def main(arguments: list[str]) -> int:
    assert os.geteuid() == 0
    if arguments == ["compare"]:
        compare()
        return 0
    tree, names = Path(arguments[0]), arguments[1:]
    cluster = open_cluster(Settings.from_environment())
    user = pwd.getpwnam(cluster.settings.service_user)
    for name, content, mode in (("witness", None, 0o1733), ("program.py", WITNESS, 0o755)):
        with suppress(FileExistsError):
            make(STATE / name, content, 0, mode)
    if not (STATE / "outside").exists():
        make_outside(STATE / "outside")
    IMAGES.mkdir(mode=0o755, exist_ok=True)
    if not names:
        BEFORE.write_text(json.dumps(look_at_the_machine()))
    services = Services(user.pw_uid, tree, user.pw_gid)
    try:
        play_all(cluster, services, [MOVES[name] for name in names or MOVES], tree)
    finally:
        services.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
