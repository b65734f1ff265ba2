"""A stage on a real API server without nodes: real objects, and pods that are really run on this machine."""

import itertools
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.integration.conftest import a_ground, runtime_on
from tests.kube_api.pod_stage import PodStage
from tests.kubernetes.api_server import ApiServer
from tests.kubernetes.fake_kubelet import Kubelet, first_processes
from worker.executors.contract import Handle, StartPlan
from worker.kubernetes.object_names import run_name, workspace_namespace

WORKSPACES = itertools.count(1000)
"""Each stage has a namespace of its own."""
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


@dataclass
class KubernetesStage(PodStage):
    server: ApiServer = field(kw_only=True)
    kubelet: Kubelet = field(kw_only=True)

    def __post_init__(self) -> None:
        self.server.add_namespace(workspace_namespace(self.workspace), **RESTRICTED)
        super().__post_init__()

    def lose_shim(self, plan: StartPlan, handle: Handle) -> None:
        for pid in first_processes(self.kubelet.container_of(run_name(plan.job, plan.attempt))):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def a_stage(server: ApiServer, kubelet: Kubelet, user: str) -> Iterator[KubernetesStage]:
    with a_ground() as ground:
        stage = KubernetesStage(
            ground,
            runtime_on(ground),
            kubeconfig=server.kubeconfig(user),
            storage=ground / "storage",
            workspace=next(WORKSPACES),
            node="node-1",
            image="registry.example/training:1",
            server=server,
            kubelet=kubelet,
        )
        try:
            yield stage
        finally:
            stage.close()
