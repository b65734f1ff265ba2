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
SSH_PORT = 2222
"""Of the sshd in each worker of an MPIJob, as in the default image: worker/environments/default/image.toml."""
SSH_DEADLINE_SECONDS = round(GIVE_UP_PENDING_AFTER.total_seconds())
"""Seconds until each of them answers; as long as any start may take."""
POD_INTERFACE = "eth0"
"""A pod's only one besides loopback. Cards for RDMA need rights that pods of workspaces do not have."""


@dataclass(frozen=True)
class LaunchPlan:
    """`command` is what the attempt's shim executes; each rank ends up running `program`."""

    command: tuple[str, ...]
    program: tuple[str, ...]
    ranks: int


def local_launch_plan(
    launcher: Launcher, interpreter: str, runtime: str, ranks: int, program: Sequence[str]
) -> LaunchPlan:
    """`interpreter` is the training environment's Python, `runtime` the folder with the rank shim.

    The interpreter is named by its full path for every rank: `python` on PATH may be another one. Ranks on
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
    """How many units each pod of a gang has: all of a node's in one where the nodes are even, else one in each."""
    if len(set(units_by_node)) == 1:
        return tuple(units_by_node)
    return (1,) * sum(units_by_node)


def mpi_launch_plan(
    plan: LaunchPlan, interpreter: str, runtime: str, folder: str, names: Sequence[str]
) -> LaunchPlan:
    """Horovod over Open MPI between pods: hosts come from the MPI operator, ssh is its way, `names` go to every rank.

    What the operator says to its launcher's environment is said here as switches, for a job's program is handed
    nothing of the pod's own (mpi-operator v0.7.0, pkg/controller/mpi_job_controller.go).
    """
    switches = {
        "orte_keep_fqdn_hostnames": "true",
        "plm_rsh_args": "-o ConnectionAttempts=10",
        "pml": "ob1",
        "btl": "self,vader,tcp",
        # To read another rank's memory is a right that pods of workspaces do not have: /dev/shm takes a copy.
        "btl_vader_single_copy_mechanism": "none",
        # Who waits for another rank leaves the processor to it: a pod may have fewer of them than ranks.
        "mpi_yield_when_idle": "true",
        "btl_tcp_if_include": POD_INTERFACE,
        "oob_tcp_if_include": POD_INTERFACE,
    }
    hostfile = "/etc/mpi/hostfile"
    wait = (str(SSH_PORT), str(SSH_DEADLINE_SECONDS))
    gang = (interpreter, f"{runtime}/{GANG_SCRIPT}", "mpi", hostfile, *wait, "--")
    mpirun = ["mpirun", "--hostfile", hostfile, "-np", str(plan.ranks), "--bind-to", "none"]
    for name, value in switches.items():
        mpirun += ["--mca", name, value]
    for name in (*names, f"NCCL_SOCKET_IFNAME={POD_INTERFACE}"):
        mpirun += ["-x", name]
    rank = remote_rank_command(plan, interpreter, runtime)
    return LaunchPlan((*gang, *mpirun, "--wdir", folder, *rank), plan.program, plan.ranks)


def pod_launch_plan(
    plan: LaunchPlan, launcher: Launcher, interpreter: str, runtime: str, pods: Sequence[int], address: str
) -> LaunchPlan:
    """Between pods that know their number: Horovod over Gloo, torchrun, or the program once in each."""
    way = {Launcher.HOROVOD: "gloo", Launcher.TORCHRUN: "torchrun"}.get(launcher, "plain")
    counts = ",".join(map(str, pods))
    gang = (interpreter, f"{runtime}/{GANG_SCRIPT}", way, counts, address, POD_INTERFACE, "--")
    rank = remote_rank_command(plan, interpreter, runtime)
    return LaunchPlan((*gang, *rank), plan.program, plan.ranks)


def remote_rank_command(plan: LaunchPlan, interpreter: str, runtime: str) -> tuple[str, ...]:
    """A rank that the attempt's shim may not see tells itself what it uses."""
    return (interpreter, f"{runtime}/{RANK_SCRIPT}", "told", "--", *plan.program)


def custom_program(interpreter: str, command: Sequence[str]) -> tuple[str, ...]:
    """The program of an advanced training: a `.py` file is run by the environment's Python.

    Anything else is a command, looked up on PATH, or from the code folder where it has a slash.
    """
    first = command[0]
    if first.endswith(".py"):
        return (interpreter, "-u", *command)
    if first in ("python", "python3"):
        return (interpreter, *command[1:])
    return tuple(command)


def built_in_program(interpreter: str, model: str) -> tuple[str, ...]:
    """The program of a built-in model, found by PYTHONPATH; its variables come by GROUNDCREW_VARIABLES."""
    return (interpreter, "-u", "-m", f"groundcrew_models.{model}")


@dataclass(frozen=True)
class JobFolders:
    """Absolute paths that a job is told."""

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
    """The whole environment of a job: nothing of the services' own is handed down.

    `units` are identities: GPU UUIDs, or the names of CPU slots, which hide every GPU.
    """
    visible = ",".join(units) if kind is UnitKind.GPU else ""
    return {
        "PATH": f"{environment_bin}:/usr/local/bin:/usr/bin:/bin",
        "HOME": folders.out,
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
