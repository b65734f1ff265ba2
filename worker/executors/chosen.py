"""Which executor the installation's settings name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cluster.crash_points import around
from cluster.domain.job_ids import USUAL_IDS, JobIds
from cluster.services.context import Cluster
from cluster.services.installation import ensure_installation
from worker.executors.contract import Executor
from worker.executors.kubernetes import KubernetesExecutor
from worker.executors.launchers import Launcher
from worker.executors.process import ProcessExecutor
from worker.executors.simulated import SimulatedExecutor, World
from worker.kube.api import ONLY_LOOKS, Api


def open_executor(cluster: Cluster, runtime: Path, launcher: Launcher | None = None) -> Executor:
    """`runtime` is the installed copy of worker/inside."""
    settings = cluster.settings
    if settings.executor == "docker":
        # The engine's client is slow to import.
        from worker.adapters.engine import Engine
        from worker.executors.docker import DockerExecutor

        engine = Engine(settings.docker_socket)
        return DockerExecutor(
            engine, settings.storage_dir, settings.docker_gpus, settings.docker_network, settings.job_ids
        )
    if settings.executor == "kubernetes" and settings.kubeconfig:
        installation = partial(ensure_installation, cluster)
        return open_kubernetes(
            settings.kubeconfig,
            installation,
            settings.storage_dir,
            runtime,
            settings.kubernetes_storage,
            settings.job_ids,
        )
    if settings.executor == "simulated":
        return SimulatedExecutor(World(settings.state_dir / "simulated"))
    return ProcessExecutor(runtime, settings.storage_dir, launcher, settings.job_ids)


def open_kubernetes(
    kubeconfig: Path,
    installation: Callable[[], str],
    storage: Path,
    runtime: Path,
    exported: str = "",
    job_ids: JobIds = USUAL_IDS,
) -> KubernetesExecutor:
    """Each request that leaves something in the cluster has a crash point before and after it."""
    api = around(Api(kubeconfig), "kubernetes", besides=ONLY_LOOKS)
    return KubernetesExecutor(api, installation, storage, runtime, exported, job_ids=job_ids)
