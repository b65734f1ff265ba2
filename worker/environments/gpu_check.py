"""Lets the training environment multiply on this machine's free GPUs, as a job that runs as a process would."""

import json
import subprocess
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Unavailable
from cluster.domain.jobs.gpu_support import GpuSupport, gpu_support_of
from cluster.domain.states import EnvironmentState, UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.store.nodes import Allocation, Node, Unit
from worker.adapters.host import read_host_name
from worker.adapters.job_runtime import install_runtime

MODULE = "groundcrew_models.gpu_check"
SECONDS = 300
"""The seconds that frameworks may take to load and to multiply."""
Found = dict[str, Any]


def check_own_gpus(cluster: Cluster) -> Found:
    """The results of each free GPU of this machine (worker/models/gpu_check.py), and the number of GPUs that are
    `busy` with jobs.

    Without real GPUs the CPU computes instead, and `is_simulated` is set. `skipped` says why nothing was computed.
    """
    if cluster.settings.executor.capabilities.has_environment_in_image:
        raise Unavailable("gpu_check.in_pods")
    environment = read_default_environment(cluster)
    if environment is None or environment.state is not EnvironmentState.READY:
        raise Unavailable("gpu_check.no_environment")
    with cluster.store.read() as session:
        free, busy = read_own_gpus(session, read_host_name())
    runtime = install_runtime(cluster.settings.runtime_dir, cluster.settings.job_ids)
    if free and gpu_support_of(environment.contents or ()) is GpuSupport.NO:
        return skipped_check(
            busy, f"the environment {environment.name} was built for CPUs: jobs on GPUs are refused"
        )
    if busy and not free:
        return skipped_check(busy, "jobs hold all GPUs")
    found = run_check(Path(environment.path) / "bin" / "python", runtime, free)
    if found["problem"]:
        raise Unavailable("gpu_check.failed", problem=found["problem"])
    return found | {"busy": busy, "skipped": ""}


def skipped_check(busy: int, why: str) -> Found:
    return {"framework": "", "is_simulated": False, "gpus": [], "problem": "", "busy": busy, "skipped": why}


def read_own_gpus(session: Session, host: str) -> tuple[list[str], int]:
    """The UUIDs of the real GPUs of this node that no job holds, and how many jobs hold."""
    query = (
        select(Unit.identity, Allocation.id)
        .join(Node, Node.id == Unit.node_id)
        .outerjoin(Allocation, (Allocation.unit_id == Unit.id) & Allocation.ended_at.is_(None))
        .where(
            Node.name == host,
            Unit.kind == UnitKind.GPU,
            Unit.state != UnitState.GONE,
            Unit.simulated.is_(False),
        )
        .order_by(Unit.position)
    )
    rows = session.execute(query).all()
    return [uuid for uuid, holder in rows if holder is None], sum(holder is not None for _, holder in rows)


def run_check(python: Path, runtime: Path, gpus: list[str]) -> Found:
    """Raises Unavailable if the program does not answer."""
    variables = {
        "PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(runtime),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(gpus),
    }
    command = [str(python), "-m", MODULE, "--gpus", str(len(gpus))]
    try:
        done = subprocess.run(
            command, env=variables, cwd="/", capture_output=True, text=True, timeout=SECONDS, check=False
        )
        found: Found = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable("gpu_check.failed", problem=str(error)[:300]) from error
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise Unavailable("gpu_check.failed", problem=last[:300]) from None
    return found
