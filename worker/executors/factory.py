"""Opens the executor that the settings name, and the way in which it starts shims."""

from collections.abc import Callable
from pathlib import Path

from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.unix_ids import DEFAULT_UNIX_IDS, JobUnixIds
from cluster.failpoints import wrap_calls
from cluster.services.context import Cluster
from cluster.services.kubernetes.installation_id import ensure_installation_id
from worker.executors.contract import Executor
from worker.executors.kubernetes import KubernetesExecutor
from worker.executors.process import ProcessExecutor
from worker.executors.shim_start import ShimStarter
from worker.executors.simulated import SimulatedCluster, SimulatedExecutor
from worker.kubernetes.api_client import READ_ONLY_CALLS, KubernetesApi


def open_executor(cluster: Cluster, runtime: Path, launcher: ShimStarter | None = None) -> Executor:
    """`runtime` is the installed copy of worker/inside."""
    settings = cluster.settings
    if settings.executor is ExecutorKind.DOCKER:
        # Importing the engine's client takes long, so it is imported only where it is used.
        from worker.adapters.docker_engine import DockerEngine
        from worker.executors.docker import DockerExecutor

        engine = DockerEngine(settings.docker_socket)
        return DockerExecutor(
            engine, settings.storage_dir, settings.docker_gpus, settings.docker_network, settings.job_ids
        )
    if settings.executor is ExecutorKind.KUBERNETES and settings.kubeconfig:
        return open_kubernetes_executor(
            settings.kubeconfig,
            lambda: ensure_installation_id(cluster),
            settings.storage_dir,
            runtime,
            settings.kubernetes_storage,
            settings.job_ids,
        )
    if settings.executor is ExecutorKind.SIMULATED:
        return SimulatedExecutor(SimulatedCluster(settings.state_dir / "simulated"))
    return ProcessExecutor(runtime, settings.storage_dir, launcher, settings.job_ids)


def open_kubernetes_executor(
    kubeconfig: Path,
    installation: Callable[[], str],
    storage: Path,
    runtime: Path,
    exported: str = "",
    job_ids: JobUnixIds = DEFAULT_UNIX_IDS,
) -> KubernetesExecutor:
    """Opens the executor. Each of its requests that changes the cluster has a failpoint before and after it."""
    api = wrap_calls(KubernetesApi(kubeconfig), "kubernetes", besides=READ_ONLY_CALLS)
    return KubernetesExecutor(api, installation, storage, runtime, exported, job_ids=job_ids)
