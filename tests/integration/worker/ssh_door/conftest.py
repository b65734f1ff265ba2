"""A real door on a port of its own, with Debian's sshd and ssh, in front of jobs that the process executor runs."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.states import JobState, TrainingKind
from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.services.people import ssh_keys
from cluster.services.ssh import door_state
from cluster.services.ssh.door_state import SshDoorState
from cluster.services.storage import folders
from cluster.store.engine import Store
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, holding
from tests.conftest import IS_CI, settings_for
from tests.machine.service_variables import service_variables
from tests.start_plans import a_start_plan
from worker.adapters.job_runtime import install_runtime
from worker.executors.contract import SandboxSpec, StartPlan
from worker.executors.process import ProcessExecutor
from worker.ssh_door.layout import SSHD, has_name_service

PYTHON = "/usr/bin/python3"
SLEEPER = (
    "import os, socket, threading, time\n"
    "server = socket.create_server(('127.0.0.1', 0))\n"
    "print('port', server.getsockname()[1], flush=True)\n"
    "while True:\n"
    "    connection, _ = server.accept()\n"
    "    connection.sendall(b'hello from the job\\n')\n"
    "    connection.close()\n"
)
"""A program that waits, as a notebook does, and answers on a port."""


def until(condition: Callable[[], Any], seconds: float = 30.0, what: str = "") -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or condition}"
        time.sleep(0.02)
    return value


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@dataclass
class RunningProgram:
    """A job whose attempt really runs."""

    job: Job
    plan: StartPlan
    handle: Any

    @property
    def login(self) -> str:
        return f"job-{self.job.id}"

    @property
    def out(self) -> Path:
        return self.plan.out

    def port(self) -> int:
        log = self.plan.out / "rank-0.stdout"
        line = until(lambda: log.exists() and log.read_text(), what="the program's port")
        return int(line.split()[1])


@dataclass
class SshLab:
    cluster: Cluster
    ground: Path
    executor: ProcessExecutor
    runtime: Path
    training: Training
    port: int
    door: "subprocess.Popen[bytes] | None" = None
    started: list[RunningProgram] = field(default_factory=list)

    def person(self, name: str) -> User:
        """A member with a key of their own in `keys/NAME`."""
        user = a_user(self.cluster, name)
        with self.cluster.store.write() as session:
            training = session.get_one(Training, self.training.id)
            training.workspace.members.append(session.get_one(User, user.id))
        self.add_key(user, name)
        return user

    def add_key(self, user: User, name: str) -> int:
        file = self.key(name)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
        text = file.with_suffix(".pub").read_text()
        return ssh_keys.add_ssh_key(self.cluster, actor_of(user), name, text).id

    def key(self, name: str) -> Path:
        folder = self.ground / "keys"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name

    def run(self, user: User, program: str = SLEEPER) -> RunningProgram:
        job = a_job(self.cluster, self.training, user, state=JobState.RUNNING)
        return self.start(job, ["-u", "train.py"], program)

    def start(self, job: Job, arguments: Sequence[str], program: str = "") -> RunningProgram:
        """An attempt of the job, with what Python is called with."""
        node = a_node(self.cluster, 1)
        holding(self.cluster, job, node.units)
        folder = folders.attempt_folder(self.cluster.settings, job.workspace_id, job.id, 1)
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for each in (folder.parents[4], folder.parents[3], folder.parents[2], folder.parents[1]):
            each.chmod(0o755)
        code = self.ground / f"code-{job.id}"
        code.mkdir()
        (code / "train.py").write_text(program)
        out = str(folder / "out")
        ids = self.cluster.settings.job_ids
        plan = a_start_plan(
            job.id,
            1,
            folder,
            (PYTHON, f"{self.runtime}/shim_rank.py", "--", PYTHON, *arguments),
            {"PATH": "/usr/bin:/bin", "HOME": out, "GROUNDCREW_OUT": out, "MARK": 'it\'s "here"'}
            | {"PYTHONPATH": str(self.runtime)},
            code=code,
            uid=ids.uid_of(job.user_id),
            gid=ids.gid_of(job.workspace_id),
            sandbox=SandboxSpec((self.ground,), (self.runtime,), ids.uid_range),
            memory_bytes=512 << 20,
            most_processes=64,
        )
        running = RunningProgram(job, plan, self.executor.start(plan))
        self.started.append(running)
        usage = folder / "control" / "usage.json"
        until(usage.exists, what="the shim's first measurement")
        return running

    def open_door(self) -> None:
        environment = service_variables(
            self.cluster.settings,
            PATH=os.environ["PATH"],
            PYTHONPATH=str(Path(__file__).parents[4]),
            GROUNDCREW_SSH_PORT=str(self.port),
        )
        with (self.ground / "door.log").open("ab") as log:
            self.door = subprocess.Popen(
                [sys.executable, "-m", "worker", "ssh-door"], env=environment, stdout=log, stderr=log
            )
        until(lambda: self.state().is_open or self.state().reason != "ssh_door.not_running", what=self.log())
        assert self.state().is_open, (self.state(), self.log())

    def state(self) -> SshDoorState:
        return door_state.read_door_state(self.cluster)

    def log(self) -> str:
        return (self.ground / "door.log").read_text()

    def options(self, name: str) -> list[str]:
        return [
            *("-F", "none", "-i", str(self.key(name)), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"),
            *(
                "-o",
                f"UserKnownHostsFile={self.ground}/known_hosts",
                "-o",
                "StrictHostKeyChecking=accept-new",
            ),
            *("-o", "LogLevel=ERROR"),
        ]

    def ssh(self, name: str, login: str, *words: str, tty: bool = False, **options: Any) -> Any:
        command = ["ssh", *self.options(name), "-p", str(self.port), *(["-tt"] if tty else [])]
        return subprocess.run(
            [*command, f"{login}@127.0.0.1", *words],
            **{"stdin": subprocess.DEVNULL} | options,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def inner(self, name: str, login: str) -> list[str]:
        """ssh to an sshd inside the job, as `groundcrew ssh-config` writes it for editors; then comes the target."""
        door = ["ssh", *self.options(name), "-p", str(self.port), f"{login}@127.0.0.1", "groundcrew-sshd"]
        options = {
            "BatchMode": "yes",
            "ProxyCommand": " ".join(door),
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
        }
        words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return ["ssh", "-F", "none", "-i", str(self.key(name)), *words]

    def begin(self, name: str, login: str, *words: str) -> "subprocess.Popen[str]":
        command = ["ssh", *self.options(name), "-p", str(self.port), f"{login}@127.0.0.1", *words]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        for running in self.started:
            self.executor.kill(running.handle)
        if self.door is not None:
            self.door.send_signal(signal.SIGTERM)
            self.door.wait(30)


def reason_for_no_door() -> str:
    if os.geteuid() != 0:
        return "only root can let people into jobs"
    if not SSHD.exists() or not has_name_service():
        return "openssh-server and libnss-extrausers are not installed"
    return ""


@pytest.fixture(scope="module")
def lab(migrated_file: Path) -> Iterator[SshLab]:
    """With an open door; what a test adds stays for the other tests of its module."""
    if missing := reason_for_no_door():
        (pytest.fail if IS_CI else pytest.skip)(missing)
    ground = Path(tempfile.mkdtemp(prefix="gc-ssh-", dir="/var/tmp"))
    ground.chmod(0o711)
    shutil.copy(migrated_file, ground / "groundcrew.db")
    url = f"sqlite:///{ground}/groundcrew.db"
    settings = replace(settings_for(url, ground), ssh_port=free_port())
    store = Store(url)
    cluster = Cluster(store, NullEventBus(), settings)
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    settings.runtime_dir.chmod(0o755)
    executor = ProcessExecutor(runtime, settings.storage_dir, job_ids=settings.job_ids)
    training = a_training(cluster, a_workspace(cluster, units=8), kind=TrainingKind.ADVANCED)
    lab = SshLab(cluster, ground, executor, runtime, training, settings.ssh_port)
    try:
        lab.open_door()
        yield lab
    finally:
        lab.close()
        store.close()
        shutil.rmtree(ground, ignore_errors=True)
