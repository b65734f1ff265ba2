"""Build the command line of a job's program for Horovod, torchrun or a plain process, and its environment variables.

Each rank's program runs inside the rank shim (`shim_rank.py`), which writes its output and its exit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.domain.jobs.attempts import GIVE_UP_PENDING_AFTER
from cluster.domain.states import Launcher, UnitKind

RANK_SCRIPT = "shim_rank.py"
GANG_SCRIPT = "shim_gang.py"
POD_INTERFACE = "eth0"
"""The only interface of a pod with a network of its own, besides loopback."""
SSH_PORT = 2222
"""The port of the sshd in each worker of an MPIJob, as in the default image:
worker/environments/default/image.toml.
"""
SSH_DEADLINE_SECONDS = round(GIVE_UP_PENDING_AFTER.total_seconds())
"""Seconds in which each worker has to answer, which are as many as any start may take."""
POD_INTERFACE = "eth0"
"""The only interface of a pod with a network of its own, besides loopback."""


@dataclass(frozen=True)
class LaunchPlan:
    """`command` is what the attempt's shim executes. Each rank then runs `program`."""

    command: tuple[str, ...]
    program: tuple[str, ...]
    ranks: int


def local_launch_plan(
    launcher: Launcher, interpreter: str, runtime: str, ranks: int, program: Sequence[str]
) -> LaunchPlan:
    """`interpreter` is the training environment's Python, `runtime` the folder with the rank shim.

    The interpreter has its full path for every rank: `python` on PATH may be another one. Ranks on
    the launcher's own host need no host list and no interface (measured with Horovod 0.28.1). Horovod's
    --verbose is never used, because it prints the whole environment of the job.
    """
    rank = (interpreter, f"{runtime}/{RANK_SCRIPT}", "--", *program)
    if launcher is Launcher.HOROVOD:
        horovod = (interpreter, "-m", "horovod.runner.launch", "-np", str(ranks), "--gloo")
        command = (*horovod, *rank)
    elif launcher is Launcher.TORCHRUN:
        torchrun = (interpreter, "-m", "torch.distributed.run", "--standalone")
        command = (*torchrun, "--nproc-per-node", str(ranks), "--no-python", *rank)
    else:
        command = rank
    return LaunchPlan(command, tuple(program), ranks)


def units_per_pod(units_by_node: Sequence[int]) -> tuple[int, ...]:
    """The number of units of each pod of a gang: one pod per node if all nodes have the same number, else one pod per
    unit.
    """
    if len(set(units_by_node)) == 1:
        return tuple(units_by_node)
    return (1,) * sum(units_by_node)


def mpi_launch_plan(
    plan: LaunchPlan,
    interpreter: str,
    runtime: str,
    folder: str,
    names: Sequence[str],
    interfaces: Sequence[str] = (POD_INTERFACE,),
) -> LaunchPlan:
    """Horovod over Open MPI between pods. The hosts come from the MPI operator, ranks start by ssh, and `names` are
    passed to every rank. The ranks meet over `interfaces`.

    The operator sets variables in its launcher's environment. They are given as options here, because a job's program
    gets no variable of the pod (mpi-operator v0.7.0, pkg/controller/mpi_job_controller.go).
    """
    shared = ",".join(interfaces)
    switches = {
        "orte_keep_fqdn_hostnames": "true",
        "plm_rsh_args": "-o ConnectionAttempts=10",
        "pml": "ob1",
        "btl": "self,vader,tcp",
        # Pods of workspaces may not read another rank's memory, so /dev/shm takes a copy.
        "btl_vader_single_copy_mechanism": "none",
        # A rank that waits yields the processor, because a pod may have fewer processors than ranks.
        "mpi_yield_when_idle": "true",
        "btl_tcp_if_include": shared,
        "oob_tcp_if_include": shared,
    }
    hostfile = "/etc/mpi/hostfile"
    wait = (str(SSH_PORT), str(SSH_DEADLINE_SECONDS))
    gang = (interpreter, f"{runtime}/{GANG_SCRIPT}", "mpi", hostfile, *wait, "--")
    mpirun = ["mpirun", "--hostfile", hostfile, "-np", str(plan.ranks), "--bind-to", "none"]
    for name, value in switches.items():
        mpirun += ["--mca", name, value]
    for name in (*names, f"NCCL_SOCKET_IFNAME={shared}"):
        mpirun += ["-x", name]
    rank = remote_rank_command(plan, interpreter, runtime)
    return LaunchPlan((*gang, *mpirun, "--wdir", folder, *rank), plan.program, plan.ranks)


def pod_launch_plan(
    plan: LaunchPlan,
    launcher: Launcher,
    interpreter: str,
    runtime: str,
    pods: Sequence[int],
    address: str,
    interfaces: Sequence[str] = (POD_INTERFACE,),
) -> LaunchPlan:
    """Returns the plan for ranks in pods that know their number: Horovod over Gloo, torchrun, or the program once in
    each pod. They meet over `interfaces`.
    """
    way = {Launcher.HOROVOD: "gloo", Launcher.TORCHRUN: "torchrun"}.get(launcher, "plain")
    counts = ",".join(map(str, pods))
    gang = (interpreter, f"{runtime}/{GANG_SCRIPT}", way, counts, address, ",".join(interfaces), "--")
    rank = remote_rank_command(plan, interpreter, runtime)
    return LaunchPlan((*gang, *rank), plan.program, plan.ranks)


def remote_rank_command(plan: LaunchPlan, interpreter: str, runtime: str) -> tuple[str, ...]:
    """The command of a rank that measures its own usage, because the attempt's shim may run on another node."""
    return (interpreter, f"{runtime}/{RANK_SCRIPT}", "told", "--", *plan.program)


def shown_command(command: Sequence[str]) -> tuple[str, ...]:
    """The command as a person would write it: without the rank's wrapper, and interpreters without their folder."""
    words = list(command)
    wrapper = next((place for place, word in enumerate(words) if word.endswith("/" + RANK_SCRIPT)), None)
    if wrapper is not None and "--" in words[wrapper:]:
        del words[max(0, wrapper - 1) : words.index("--", wrapper) + 1]
    return tuple("python" if word.endswith(("/bin/python", "/bin/python3")) else word for word in words)


def custom_program(interpreter: str, command: Sequence[str]) -> tuple[str, ...]:
    """The program of an advanced training. A `.py` file is run by the environment's Python.

    Any other word is a command, looked up on PATH, or in the code folder if it contains a slash.
    """
    first = command[0]
    if first.endswith(".py"):
        return (interpreter, "-u", *command)
    if first in ("python", "python3"):
        return (interpreter, *command[1:])
    return tuple(command)


def built_in_program(interpreter: str, model: str) -> tuple[str, ...]:
    """The program of a built-in model, which is found by PYTHONPATH and reads its variables from
    GROUNDCREW_VARIABLES.
    """
    return (interpreter, "-u", "-m", f"groundcrew_models.{model}")


@dataclass(frozen=True)
class JobFolders:
    """The absolute paths that a job gets."""

    runtime: str
    out: str
    code: str
    dataset: str = ""


def job_environment(
    job: int,
    attempt: int,
    ranks: int,
    units: Sequence[str],
    kind: UnitKind,
    folders: JobFolders,
    environment_bin: str,
    variables: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """The whole environment of a job. No variable of the services is passed on.

    The job's user is a number without a name, and PyTorch and others ask for the name (getpass.getuser): USER has one.
    `units` are identities: GPU UUIDs, or the names of CPU slots, which hide every GPU.
    """
    visible = ",".join(units) if kind is UnitKind.GPU else ""
    return {
        "PATH": f"{environment_bin}:/usr/local/bin:/usr/bin:/bin",
        "HOME": folders.out,
        "USER": f"job-{job}",
        "LOGNAME": f"job-{job}",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONPATH": folders.runtime,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TF_USE_LEGACY_KERAS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": visible,
        "GROUNDCREW_JOB": str(job),
        "GROUNDCREW_ATTEMPT": str(attempt),
        "GROUNDCREW_OUT": folders.out,
        "GROUNDCREW_DATASET": folders.dataset,
        "GROUNDCREW_CODE": folders.code,
        "GROUNDCREW_VARIABLES": json.dumps(dict(variables or {}), ensure_ascii=True, sort_keys=True),
        "GROUNDCREW_RANKS": str(ranks),
        "GROUNDCREW_UNITS": ",".join(units),
    }
