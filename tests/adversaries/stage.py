"""A small installation in one folder, laid out as on servers or as `make up` does, for one move and one pass of all.

The scheduler is the real one with the real executor, as root; operations are run by the task worker's own code in a
process of the services' user; around it lie files and processes that nobody may touch (`canaries.py`).
"""

import itertools
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, text

from cluster.domain.errors import GroundcrewError
from cluster.domain.states import (
    ENDED_JOB_STATES,
    AttemptState,
    EnvironmentState,
    Launcher,
    TrainingKind,
)
from cluster.event_bus import RedisEventBus, connect_redis
from cluster.services.context import Cluster
from cluster.services.storage import folders, staged_code
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.adversaries.moves import LARGE
from tests.adversaries.services import contents_of
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, add
from tests.machine.service_variables import service_variables
from worker.adapters.job_runtime import install_runtime
from worker.executors.contract import Executor
from worker.executors.factory import open_executor
from worker.executors.shim_fork_client import ForkedShimStarter
from worker.executors.shim_start import ShimStarter as ShimLauncher
from worker.executors.shim_systemd_unit import SystemdShimStarter
from worker.scheduling.cadence import Cadence
from worker.scheduling.loop import SchedulerLoop, Wakeup

if TYPE_CHECKING:
    import pytest

REPOSITORY = Path(__file__).parents[2]
BASE = 1_000_000_000 + (os.getpid() % 1000) * 2**20
"""Numbers of this process's installation: a job of another test on this machine is somebody else."""
SERVICE, WATCH, PERSON = BASE - 3, BASE - 2, BASE - 1
"""The services' user, the one who watches repairs, and a person of the machine who has nothing to do with any of it."""
SERVICE_NAME = "groundcrew-of-tests"
PYTHON = "/usr/bin/python3"
AS_UNITS = os.environ.get("GROUNDCREW_TEST_LAUNCHER") == "systemd"
"""Each shim a transient unit: tests/hosts/appliance/test_adversaries_on_a_host.py."""
NUMBERS = itertools.count(1)
PASS_SECONDS = 20.0
CLEARINGS = 20
WITNESS = """import json, os, sys
folders = [sys.argv[1], os.environ.get("GROUNDCREW_OUT", "")]
for folder in filter(None, folders):
    try:
        path = os.path.join(folder, "ran-%d-%s" % (os.getpid(), os.urandom(4).hex()))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError:
        continue
    told = {"uid": os.getresuid(), "gid": os.getresgid(), "groups": os.getgroups()}
    os.write(file, json.dumps(told).encode())
    os.close(file)
"""
"""Says as whom it runs: by the owner of a file, and in it."""
SLEEPER = (
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nwhile True:\n    time.sleep(60)\n"
)
Files = Sequence[tuple[str, str | int]]
"""Names with what stands there, or as many bytes."""


@dataclass(frozen=True)
class Layout:
    """Who the services are."""

    name: str
    service: int

    def __str__(self) -> str:
        return self.name


class Silence(Wakeup):
    """Nobody rings: the scheduler's turns are the test's."""

    def __init__(self) -> None:
        pass

    def wake(self) -> None:
        pass


SERVER = Layout("server", SERVICE)
EMBEDDED = Layout("embedded", 0)


class Services:
    """The services' process (`services.py`)."""

    def __init__(self, user: int, tree: Path, group: int | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "tests.adversaries.services"],
            cwd=tree,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=user,
            group=user if group is None else group,
            extra_groups=[],
        )
        self.is_ready = False

    def ask(self, settings: Settings, verb: str, **asked: Any) -> str:
        """What went wrong, in words; empty where it was done."""
        assert self.process.stdin and self.process.stdout
        if not self.is_ready:
            assert self.process.stdout.readline() == "ready\n", "the services' process has not begun"
            self.is_ready = True
        self.process.stdin.write(json.dumps({"do": verb, "environment": variables(settings), **asked}) + "\n")
        self.process.stdin.flush()
        said: str = json.loads(self.process.stdout.readline())
        return said

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


def variables(settings: Settings) -> dict[str, str]:
    return service_variables(settings, GROUNDCREW_SERVICE_USER=settings.service_user)


def copy_tree(target: Path) -> Path:
    """What the services' process imports, where another user may read it."""
    for name in ("cluster", "worker", "tests/adversaries"):
        shutil.copytree(REPOSITORY / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "tests" / "__init__.py").touch()
    target.chmod(0o755)
    return target


def make(path: Path, content: str | None, owner: int, mode: int) -> None:
    """A file, or a folder where there is no content."""
    if content is None:
        path.mkdir(parents=True)
    else:
        path.write_text(content)
    os.chown(path, owner, owner)
    path.chmod(mode)


def make_outside(folder: Path) -> None:
    """What stands for the machine: files of root's and of a person, open and closed."""
    make(folder, None, 0, 0o755)
    make(folder / "etc", None, 0, 0o755)
    make(folder / "etc" / "passwd", "root:x:0:0\n", 0, 0o644)
    make(folder / "etc" / "shadow", "a secret of root's\n", 0, 0o600)
    make(folder / "etc" / "program", "#!/bin/sh\n", 0, 0o4755)
    make(folder / "root-only", None, 0, 0o700)
    make(folder / "root-only" / "epoch-0001.weights.h5", "a secret of root's\n", 0, 0o600)
    make(folder / "root-only" / "epoch-0001.json", '{"epoch": 1, "step": 10}', 0, 0o600)
    make(folder / "root-only" / LARGE, "a secret of root's\n", 0, 0o600)
    for name in ("plan.json", "started", "exit.json", "usage.json", "shim.log", "rank-0.stdout"):
        make(folder / "root-only" / name, "a secret of root's\n", 0, 0o600)
    for name in ("jobs", "datasets", "code", "out", "work", "control"):
        make(folder / "root-only" / name, None, 0, 0o700)
        make(folder / "root-only" / name / "kept", "root's\n", 0, 0o600)
    make(folder / "person", None, PERSON, 0o700)
    make(folder / "person" / "notes", "a secret of a person's\n", PERSON, 0o600)


@dataclass
class Stage:
    """One installation; everything of it lies in `ground`."""

    ground: Path
    layout: Layout
    cluster: Cluster
    services: Services
    launcher: ShimLauncher
    person: User
    training: Training
    other_training: Training
    executor: Executor
    scheduler: SchedulerLoop
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    """What the scheduler itself has met in a pass."""

    @property
    def settings(self) -> Settings:
        return self.cluster.settings

    @property
    def outside(self) -> Path:
        return self.ground / "outside"

    @property
    def images(self) -> Path:
        """Where root builds the default image."""
        return self.ground / "images"

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders of root's programs and settings, and of what installs them."""
        return self.ground / "images", self.settings.runtime_dir

    @property
    def sockets(self) -> tuple[Path, ...]:
        """Behind which there is power, and which are for others."""
        return tuple(
            self.ground / "run" / name for name in ("repair-run.sock", "nursery.sock", "docker.sock")
        )

    @property
    def whole(self) -> list[Path]:
        """Of what lies in these folders nothing may change."""
        names = ("secrets", "runtime", "repairs", "telemetry", "backups", "environment")
        return [self.outside, *(self.ground / name for name in names)]

    @property
    def shallow(self) -> list[Path]:
        """Of these folders and files owner and mode may not change."""
        names = ("log", "database", "run", "witness", "cache", "images", "storage", "program.py")
        return [self.ground, *(self.ground / name for name in names)]

    @property
    def database(self) -> str:
        """As moves are told of it, see `Ground`."""
        return self.settings.database_url.removeprefix("sqlite:///")

    @property
    def redis(self) -> str:
        return self.settings.redis_url.removeprefix("unix://")

    @property
    def slowness(self) -> float:
        """So many times as long a job has for what services can prevent."""
        return 1.0

    @property
    def service(self) -> tuple[int, int]:
        """User and group that the adversary among the services has."""
        return SERVICE, SERVICE

    @property
    def uid(self) -> int:
        """Of the jobs that the adversary's person has submitted."""
        return self.settings.uid_base + self.person.id

    @property
    def gid(self) -> int:
        return self.settings.gid_base + self.training.workspace_id

    def submit(self, training: Training, program: str, more: Files = (), **columns: Any) -> Job:
        """Its code is written as the portal does."""
        with self.cluster.store.write() as session:
            row = session.get_one(Training, training.id)
            row.code_version += 1
            version = row.code_version
        folder = folders.code_folder(self.settings, training.workspace_id, training.id, version)
        files: Files = [("train.py", program), *more]
        if self.layout is SERVER:
            said = self.services.ask(
                self.settings, "code", folder=str(folder), files=files, workspace=training.workspace_id
            )
            assert not said, said
        else:
            staged_code.write_code(self.settings, folder, contents_of(files), training.workspace_id)
        return a_job(
            self.cluster,
            training,
            launcher=Launcher.PLAIN,
            code_version=version,
            command=["train.py", str(self.ground / "witness")],
            grace_seconds=1,
            **columns,
        )

    def folder_of(self, job: Job, attempt: int = 1) -> Path:
        return folders.attempt_folder(self.settings, job.workspace_id, job.id, attempt)

    def read(self, job: Job) -> Job:
        with self.cluster.store.read() as session:
            return session.get_one(Job, job.id)

    def held(self) -> dict[str, Any]:
        """Columns by which a job waits for `let_go`: here nothing begins without a turn."""
        return {}

    def let_go(self, job: Job) -> None:
        """The move stands: the job may begin."""

    def turn(self, does_all: bool = False) -> None:
        """One look of the scheduler at everything. What it cannot digest is written down, and it goes on.

        `does_all`: also what it does now and then.
        """
        if does_all:
            self.scheduler.cadence = Cadence(work_began={})
        try:
            if self.scheduler.renew_lease():
                self.scheduler.run_pass()
        except Exception as error:  # noqa: BLE001 - Systemd would start it anew.
            self.troubles.append(f"{type(error).__name__}: {error}")
            self.scheduler.lease = None

    def until(self, condition: Callable[[], Any], seconds: float = PASS_SECONDS) -> bool:
        """Turns until it holds, ever more slowly; False where it does not within the time."""
        deadline, pause = time.monotonic() + seconds, 0.01
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.turn()
            time.sleep(pause)
            pause = min(pause * 1.4, 0.25)
        return True

    def was_refused(self) -> bool:
        """Whether an attempt was not started, for which there is no hope in these tests."""
        return bool(self.scheduler.reconciler.start_problems)

    def is_over(self, job: Job) -> bool:
        return self.read(job).state in ENDED_JOB_STATES

    def has_begun(self, job: Job, attempt: int = 1) -> bool:
        with self.cluster.store.read() as session:
            query = select(Attempt.state).where(Attempt.job_id == job.id, Attempt.number == attempt)
            return session.scalar(query) is AttemptState.RUNNING

    def sleeper(self, training: Training) -> Job:
        """A job whose program runs, once `is_awake` says so."""
        return self.submit(training, SLEEPER, retries=2)

    def is_awake(self, job: Job) -> bool:
        return self.has_begun(job) and (self.folder_of(job) / "out" / "rank-0.stdout").exists()

    def end_runs(self) -> None:
        """As the scheduler would, so that no group of processes is left on the machine."""
        for run in self.executor.list_running():
            self.executor.kill(run.handle)
        for folder in self.settings.storage_dir.glob("workspaces/*/jobs/*/*"):
            for _ in range(CLEARINGS):
                with suppress(OSError, GroundcrewError):
                    if self.executor.end_leftovers(folder) == 0:
                        break
                time.sleep(0.02)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.end_runs()
        end_all(self.ground)
        self.scheduler.reconciler.starts.pool.shutdown()
        if isinstance(self.launcher, ForkedShimStarter):
            self.launcher.close()
        self.cluster.store.close()
        bell = self.cluster.events
        assert isinstance(bell, RedisEventBus)
        bell.connection.close()


def end_all(ground: Path) -> None:
    """Whatever still runs for this installation: jobs and their shims, by their users and by what they are called."""
    mark = os.fsencode(ground)
    for _ in range(50):
        living = [pid for name in os.listdir("/proc") if name.isdigit() and is_ours(pid := int(name), mark)]
        for pid in living:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not living:
            return
        time.sleep(0.02)


def is_ours(pid: int, mark: bytes) -> bool:
    try:
        if BASE <= os.stat(f"/proc/{pid}").st_uid < BASE + 2**20:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return b"/shim.py" in (words := Path(f"/proc/{pid}/cmdline").read_bytes()) and mark in words
    except OSError:
        return False


@contextmanager
def a_stage(
    layout: Layout,
    migrated_file: Path,
    redis_url: str,
    services: Services,
    patch: "pytest.MonkeyPatch",
    spoil: Callable[[Path], None] | None = None,
) -> Iterator[Stage]:
    """Two workspaces with a person each; `spoil` changes what was installed for jobs (`runtime`), as a mutant does."""
    own = pwd.struct_passwd((SERVICE_NAME, "x", SERVICE, SERVICE, "", "/nonexistent", "/usr/sbin/nologin"))
    known = pwd.getpwnam
    patch.setattr(pwd, "getpwnam", lambda name: own if name == SERVICE_NAME else known(name))
    ground = Path(tempfile.mkdtemp(prefix="gc-adversary-"))
    ground.chmod(0o711)
    try:
        settings = lay_out(ground, layout, migrated_file, redis_url)
        runtime = install_runtime(settings.runtime_dir, settings.job_ids)
        if spoil is not None:
            spoil(runtime)
        with open_stage(ground, layout, settings, runtime, services) as stage:
            yield stage
    finally:
        shutil.rmtree(ground, ignore_errors=True)


def lay_out(ground: Path, layout: Layout, migrated_file: Path, redis_url: str) -> Settings:
    """Folders as roles and `make up` make them."""
    service = layout.service
    make_outside(ground / "outside")
    make(ground / "witness", None, 0, 0o1733)
    make(ground / "program.py", WITNESS, 0, 0o755)
    make(ground / "database", None, service, 0o700)
    shutil.copy(migrated_file, ground / "database" / "groundcrew.db")
    os.chown(ground / "database" / "groundcrew.db", service, service)
    make(ground / "secrets", None, 0, 0o700)
    make(ground / "secrets" / "form-key", "a secret of root's\n", 0, 0o600)
    make(ground / "log", None, service, 0o2770)
    make(ground / "log" / "access", None, service, 0o700)
    make(ground / "backups", None, service, 0o750)
    make(ground / "telemetry", None, PERSON, 0o755)
    make(ground / "repairs", None, WATCH, 0o2750)
    make(ground / "repairs" / "records", None, WATCH, 0o700)
    make(ground / "run", None, WATCH, 0o2750)
    make(ground / "cache", None, service, 0o755)
    make(ground / "images", None, 0, 0o755)
    make(ground / "storage", None, 0, 0o711)
    make(ground / "storage" / "workspaces", None, 0, 0o711)
    return Settings(
        state_dir=ground,
        cache_dir=ground / "cache",
        database_url=f"sqlite:///{ground}/database/groundcrew.db",
        redis_url=redis_url,
        secret_key="a key for tests only, long enough",
        uid_base=BASE,
        gid_base=BASE,
        service_user=SERVICE_NAME if service else "",
    )


@contextmanager
def open_stage(
    ground: Path, layout: Layout, settings: Settings, runtime: Path, services: Services
) -> Iterator[Stage]:
    cluster = Cluster(
        Store(settings.database_url), RedisEventBus(connect_redis(settings.redis_url)), settings
    )
    person, other = a_user(cluster), a_user(cluster)
    workspace, elsewhere = a_workspace(cluster, person, units=8), a_workspace(cluster, other, units=8)
    node = a_node(cluster, units=8, name="node-a")
    with cluster.store.write() as session:
        session.get_one(Node, node.id).heartbeat_at = cluster.clock() + timedelta(hours=1)
    folder = ground / "environment"
    make(folder, None, 0, 0o755)
    make(folder / "bin", None, 0, 0o755)
    (folder / "bin" / "python").symlink_to(PYTHON)
    row = Environment(name="default", digest="d", state=EnvironmentState.READY, path=str(folder))
    row.created_at = cluster.clock()
    add(cluster, row, InstallationFact(name="default_environment", value={"digest": "d"}))
    # A unit's name is a job's number: none is used again by the next installation of this process.
    with cluster.store.write() as session:
        session.execute(
            text(f"insert into sqlite_sequence (name, seq) values ('jobs', {10 * next(NUMBERS)})")
        )
    launcher: ShimLauncher = SystemdShimStarter() if AS_UNITS else ForkedShimStarter()
    executor = open_executor(cluster, runtime, launcher)
    stage = Stage(
        ground=ground,
        layout=layout,
        cluster=cluster,
        services=services,
        launcher=launcher,
        person=person,
        training=a_training(cluster, workspace, kind=TrainingKind.ADVANCED),
        other_training=a_training(cluster, elsewhere, kind=TrainingKind.ADVANCED),
        executor=executor,
        scheduler=SchedulerLoop(cluster, executor, runtime, Silence()),
    )
    for each in (workspace, elsewhere):
        folders.ensure_workspace_folder(settings, each.id)
    for user in (0, PERSON):
        sleep = ["/bin/sleep", "600"]
        stage.processes.append(subprocess.Popen(sleep, user=user, group=user, extra_groups=[]))
    try:
        yield stage
    finally:
        stage.close()
