"""The stage of the contract suite whose executor is Kubernetes, wherever the pods are."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.worker.executors.executor_stages import RealStage, until
from tests.start_plans import change_plan
from worker.executors.contract import Executor, StartPlan
from worker.executors.kubernetes import KubernetesExecutor
from worker.executors.path_mapping import ContainerPaths, PathMapping
from worker.kubernetes.api_client import KubernetesApi
from worker.kubernetes.manifests.pod_template import RUNTIME_INSIDE
from worker.kubernetes.object_names import workspace_namespace


@dataclass
class PodStage(RealStage):
    kubeconfig: Path = field(kw_only=True)
    """Whose rights the executor has."""
    storage: Path = field(kw_only=True)
    """At the same place for us and for the nodes."""
    workspace: int = field(kw_only=True)
    node: str = field(kw_only=True)
    """On which runs begin that do not say otherwise."""
    image: str | None = field(kw_only=True)
    apis: list[KubernetesApi] = field(default_factory=list)
    executor: KubernetesExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.executor = self.open_again()

    def view(self) -> PathMapping:
        return ContainerPaths()

    def plan_for(self, *program: str, job: int | None = None, **changes: Any) -> StartPlan:
        job = job or next(self.numbers)
        plan = super().plan_for(*program, job=job, **changes)
        folder = self.storage / "workspaces" / str(self.workspace) / "jobs" / str(job) / "1"
        folder.parent.mkdir(parents=True, exist_ok=True)
        for each in (folder.parents[1], folder.parents[2]):
            each.chmod(0o711)
        mounts = tuple(mount for mount in plan.container.mounts if str(mount.target) != RUNTIME_INSIDE)
        placed: dict[str, Any] = {"nodes": (self.node,), "units_by_node": ((self.node, 1),)}
        return change_plan(plan, **{"folder": folder, "mounts": mounts, **placed, **changes})

    def open_again(self) -> KubernetesExecutor:
        self.apis.append(KubernetesApi(self.kubeconfig))
        return self.executor_on(self.apis[-1])

    def mark(self) -> str:
        """What this stage has made is no other's."""
        return f"{self.workspace:08x}"

    def executor_on(self, api: KubernetesApi) -> KubernetesExecutor:
        return KubernetesExecutor(api, self.mark, self.storage, self.runtime, fresh_seconds=0.1)

    def silent(self, plan: StartPlan) -> Executor | None:
        self.apis.append(KubernetesApi(Path("/nonexistent/kubeconfig")))
        return self.executor_on(self.apis[-1])

    def close(self) -> None:
        """Also of what was made a moment ago, and begins to run while it is looked at."""
        until(self, self.is_empty, what="the end of all that it has made")
        for api in self.apis:
            api.close()

    def is_empty(self) -> bool:
        for run in self.executor.list_running():
            self.executor.kill(run.handle)
        self.executor.remove_ended_except(())
        namespace = workspace_namespace(self.workspace)
        kinds = ("Job", "MPIJob", "Pod")
        return not any(self.executor.api.list_all(kind, namespace=namespace).things for kind in kinds)
