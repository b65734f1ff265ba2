"""The stage of the contract suite on hosts: pods of their kubelets, begun with the rights of the site's scheduler.

It is another installation on the same cluster, with a mark and a workspace of its own. It sees the storage where the
nodes have it, and its jobs have one list of numbers, for they share that workspace.
"""

import itertools
import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.mounted_storage import seen_at
from tests.hosts.kube.test_cluster import REFERENCES
from tests.hosts.machines.testbed import STORAGE
from tests.integration.conftest import a_ground, runtime_on
from tests.integration.worker.executors.executor_stages import end_of, until
from tests.integration.worker.executors.program_actions import Act
from tests.kube_api.pod_stage import PodStage
from worker.executors.contract import Handle, StartPlan
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.namespaces.sync import NamespaceSync

KUBECONFIG = "/etc/groundcrew/kubernetes/scheduler.conf"
FIRST_WORKSPACE, WORKSPACES = 900_000, 90_000
"""Far from those that a site has."""
SECONDS_OF_THE_FIRST = 900.0
"""The node may have to bring the image."""
KILL = "ctr --namespace k8s.io tasks kill --signal SIGKILL "
JOBS = itertools.count(1)


@dataclass
class HostStage(PodStage):
    cluster: Cluster = field(kw_only=True)

    def pods_of(self, plan: StartPlan) -> list[KubernetesObject]:
        wanted = object_names.label_selector(job=str(plan.job), attempt=str(plan.attempt))
        found = self.executor.api.list_all("Pod", wanted, object_names.workspace_namespace(self.workspace))
        return list(found.things)

    def lose_shim(self, plan: StartPlan, handle: Handle) -> None:
        """The container's first process, by its engine."""
        container = until(self, lambda: self.container_of(plan), what="that its kubelet has told of it")
        host = next(host for host in self.cluster.hosts if host.name == handle["node"])
        host.ask(KILL + container)

    def container_of(self, plan: StartPlan) -> str:
        """As containerd calls it; empty before its kubelet has told."""
        (pod,) = self.pods_of(plan)
        (status,) = pod["status"].get("containerStatuses") or [{}]
        return str(status.get("containerID", "")).removeprefix("containerd://")


@dataclass(frozen=True)
class Tenant:
    """The workspace with all that the product makes of one, its queue too, and what its stages have in common."""

    cluster: Cluster
    ground: Path
    runtime: Path
    kubeconfig: Path
    workspace: int
    image: str

    def stage(self) -> HostStage:
        return HostStage(
            self.ground,
            self.runtime,
            JOBS,
            kubeconfig=self.kubeconfig,
            storage=Path(STORAGE),
            workspace=self.workspace,
            node=self.cluster.bed.hosts["w1"].name,
            image=self.image,
            cluster=self.cluster,
        )

    def make(self) -> None:
        """And a first run comes to its end."""
        stage = self.stage()
        wanted = [WorkspaceNamespace(self.workspace, "contract", 8, True)]
        keeper = NamespaceSync(stage.executor.api, stage.mark())
        until(stage, lambda: not keeper.sync(wanted).changes, what="that the workspace is there")
        plan = stage.plan(Act())
        stage.executor.start(plan)
        end_of(stage, plan, SECONDS_OF_THE_FIRST)
        stage.close()

    def remove(self) -> None:
        """By the administrator: the scheduler deletes no workspace."""
        name, ours = (
            object_names.workspace_namespace(self.workspace),
            object_names.label_selector(installation=self.stage().mark()),
        )
        self.cluster.kubectl(f"delete namespace {name} --ignore-not-found --timeout=180s")
        self.cluster.kubectl(f"delete clusterqueue {name} --ignore-not-found --timeout=60s")
        self.cluster.kubectl(f"delete persistentvolume -l {ours} --timeout=60s")
        shutil.rmtree(Path(STORAGE) / "workspaces" / str(self.workspace), ignore_errors=True)


@contextmanager
def a_tenant(cluster: Cluster, folder: Path) -> Iterator[Tenant]:
    """`folder`: for the scheduler's token. Nothing of it is left afterwards."""
    kubeconfig = folder / "scheduler.conf"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(cluster.master.ask(f"cat {KUBECONFIG}"))
    image = json.loads(cluster.master.ask(REFERENCES))["cpu"]
    workspace = FIRST_WORKSPACE + secrets.randbelow(WORKSPACES)
    shared = cluster.bed.shared
    assert shared is not None
    with a_ground() as ground, seen_at(Path(STORAGE), shared):
        tenant = Tenant(cluster, ground, runtime_on(ground), kubeconfig, workspace, image)
        try:
            tenant.make()
            yield tenant
        finally:
            tenant.remove()


@pytest.fixture(scope="module")
def tenant(installed: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    with a_tenant(installed, tmp_path_factory.mktemp("tenant")) as tenant:
        yield tenant


@pytest.fixture
def stage(tenant: Tenant) -> Iterator[HostStage]:
    stage = tenant.stage()
    try:
        yield stage
    finally:
        stage.close()
