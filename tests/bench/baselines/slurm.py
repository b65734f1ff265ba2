"""Slurm of Debian's packages: munged, slurmctld and slurmd of our own in a scratch folder, with their own ports.

Tuned as its manual says for many short jobs (doc/html/high_throughput.html, slurm.conf(5)), or as it comes.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.programs import write_programs
from tests.free_ports import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel")
TUNED = {
    "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,bf_interval=1,default_queue_depth=1000",
    "SlurmctldDebug": "error",
    "SlurmdDebug": "error",
    "MinJobAge": "60",
}
AS_IT_COMES = {"SlurmctldDebug": "info", "SlurmdDebug": "info"}
STARTS_WITHIN = 30


class SlurmMissing(Exception):
    """Says what is not installed, or what did not start."""


@dataclass
class Slurm:
    """One cluster of one node; beside the slots it has one CPU for the job that holds the licence."""

    folder: Path
    settings: Mapping[str, str]
    controller: "subprocess.Popen[bytes] | None" = None

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder / "out",
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SlurmMissing(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def submit(self, *words: str) -> int:
        """The job's number, once sbatch has been told that it is accepted."""
        told = self.run("sbatch", "--parsable", *words)
        return int(re.split(r"[;\s]", told)[0])

    def states(self) -> dict[str, int]:
        """How many jobs are in each state; an array's waiting tasks are one line."""
        counts: dict[str, int] = {}
        for line in self.run("squeue", "--noheader", "--format=%t").split():
            counts[line] = counts.get(line, 0) + 1
        return counts

    def is_at_work(self) -> bool:
        """Whether any job waits for nothing but a slot, or runs; the one that holds the licence does not count."""
        return any(self.count(name) for name in ("nap.sh", "true.sh"))

    def wait_until_no_job_runs(self) -> None:
        while self.count("stamp.sh"):
            time.sleep(0.01)

    def count(self, name: str) -> int:
        return len(self.run("squeue", "--noheader", f"--name={name}", "--format=%i").split())

    def wait_until_it_answers(self) -> None:
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end:
            try:
                self.run("squeue", "--noheader")
                return
            except SlurmMissing:
                time.sleep(0.02)

    def cancel_waiting(self) -> None:
        self.run("scancel", "--me", "--state=PENDING")
        end = time.monotonic() + STARTS_WITHIN
        while self.states().get("PD") and time.monotonic() < end:
            time.sleep(0.1)

    def hold_licence(self) -> None:
        """A job that sleeps with the only licence, on a CPU of its own: whoever else wants it stays queued."""
        self.submit("--licenses=blocked:1", "--job-name=holder", "--output=/dev/null", "--wrap=sleep 1000000")
        end = time.monotonic() + STARTS_WITHIN
        while "R" not in self.states():
            if time.monotonic() > end:
                raise SlurmMissing(f"no job starts; see {self.folder}")
            time.sleep(0.1)

    def start_controller(self) -> None:
        command = ["slurmctld", "-D", "-f", str(self.folder / "slurm.conf")]
        with (self.folder / "slurmctld.out").open("ab") as log:
            self.controller = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def kill_controller(self) -> None:
        assert self.controller
        self.controller.kill()
        self.controller.wait()

    def wait_until_idle(self) -> None:
        """Raises SlurmMissing where the node does not come up."""
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end:
            try:
                if "idle" in self.run("sinfo", "--noheader", "--format=%t"):
                    return
            except SlurmMissing:
                pass
            time.sleep(0.1)
        raise SlurmMissing(f"Slurm did not start; see {self.folder}")


def version() -> str:
    """Raises SlurmMissing."""
    if absent := [name for name in PROGRAMS if shutil.which(name, path="/usr/bin:/usr/sbin") is None]:
        raise SlurmMissing(
            f"not installed: {', '.join(absent)} (Debian: slurmctld, slurmd, slurm-client, munge)"
        )
    return subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.strip()


def configuration(folder: Path, slots: int, more: Mapping[str, str]) -> dict[str, str]:
    host = socket.gethostname().split(".")[0]
    user = "root" if os.geteuid() == 0 else os.environ.get("USER", "root")
    return {
        "ClusterName": "bench",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": str(free_port()),
        "SlurmdPort": str(free_port()),
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge.socket",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.pid",
        "SlurmctldLogFile": f"{folder}/slurmctld.log",
        "SlurmdLogFile": f"{folder}/slurmd.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
        "SwitchType": "switch/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "ReturnToService": "2",
        "Licenses": "blocked:1",
        "SlurmdParameters": "config_overrides",
        "MaxJobCount": "120000",
        "MaxArraySize": "120001",
        **more,
        "NodeName": f"{host} NodeAddr=127.0.0.1 CPUs={slots + 1} State=UNKNOWN",
        "PartitionName": f"all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO",
    }


@contextmanager
def slurm(slots: int, more: Mapping[str, str]) -> Iterator[Slurm]:
    """Raises SlurmMissing."""
    version()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="gc-slurm-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        for name in ("state", "spool", "out"):
            (folder / name).mkdir()
        settings = configuration(folder, slots, more)
        (folder / "slurm.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        cluster = Slurm(folder, more)
        stack.callback(end, stack.enter_context(munged(folder)))
        cluster.start_controller()
        stack.callback(cluster.kill_controller)
        with (folder / "slurmd.out").open("ab") as log:
            node = subprocess.Popen(
                ["slurmd", "-D", "-f", str(folder / "slurm.conf")],
                env=cluster.environment,
                stdout=log,
                stderr=log,
            )
        stack.callback(end, node)
        # Jobs are nobody's children here either: they would outlive the daemons.
        stack.callback(end_all_of, folder)
        write_programs(folder / "out")
        cluster.wait_until_idle()
        cluster.hold_licence()
        yield cluster


def end_all_of(folder: Path) -> None:
    """Job scripts, their programs, and the step daemons above them."""
    for process in psutil.process_iter(["cmdline"]):
        if any(f"{folder}/spool/" in word for word in process.info["cmdline"] or ()):
            with suppress(psutil.Error):
                for each in (process.parent(), *process.children(recursive=True), process):
                    if each is not None and each.pid > 1:
                        each.kill()


@contextmanager
def munged(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """With a key of its own, so that the machine's munge, where there is one, is left alone."""
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    command = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    files = [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
    with (folder / "munged.out").open("ab") as log:
        process = subprocess.Popen([*command, *files], stdout=log, stderr=log)
    deadline = time.monotonic() + STARTS_WITHIN
    while not (folder / "munge.socket").exists():
        if time.monotonic() > deadline or process.poll() is not None:
            raise SlurmMissing((folder / "munged.out").read_text())
        time.sleep(0.02)
    yield process


def end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
