"""Simulated nodes beside the tests' API server: kwok is their kubelet, the real kube-scheduler puts pods on them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.kubernetes.api_server import ADMINISTRATOR, ApiServer, running, until
from tests.kubernetes.compiled_programs import find_programs
from tests.kwok.program import find_kwok
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.object_kinds import object_head

STAGES = Path(__file__).parent / "stages.yaml"
SIMULATED = "groundcrew.io/simulated"
HOST = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
CONTROLLERS = (
    "persistentvolume-binder-controller,node-lifecycle-controller,taint-eviction-controller,"
    "pod-garbage-collector-controller,ttl-after-finished-controller"
)
"""What placing on nodes needs besides those that run with every API server of the tests."""


def node(name: str, gpus: int) -> KubernetesObject:
    """With room for far more than its GPUs: they are what runs out."""
    labels = {HOST: name, "kubernetes.io/os": "linux", SIMULATED: "yes"}
    room = {"cpu": "128", "memory": "1Ti", "pods": "110", "ephemeral-storage": "10Ti", GPU: str(gpus)}
    return object_head("Node", name, labels=labels) | {"status": {"allocatable": room, "capacity": room}}


@contextmanager
def simulated_nodes(server: ApiServer, silent_after: int = 40) -> Iterator[None]:
    """Whoever has the label is a simulated node, and its pods run at once; without it nobody hears of it any more.

    Nodes that were not heard of for `silent_after` seconds are not ready. Raises NotCompiled.
    """
    programs = find_programs("kube-scheduler", "kube-controller-manager") | {"kwok": find_kwok()}
    file = server.kubeconfig(ADMINISTRATOR)
    kwok = (
        f"--config={STAGES}",
        f"--manage-nodes-with-label-selector={SIMULATED}=yes",
        f"--node-lease-duration-seconds={silent_after}",
    )
    placing = ("--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400")
    minding = (
        *("--leader-elect=false", "--secure-port=0", f"--controllers={CONTROLLERS}"),
        f"--node-monitor-grace-period={silent_after + 10}s",
    )
    with ExitStack() as stack:
        for name, words in (
            ("kwok", kwok),
            ("kube-scheduler", placing),
            ("kube-controller-manager", minding),
        ):
            folder = server.folder / f"{name}-of-nodes"
            folder.mkdir(exist_ok=True)
            stack.enter_context(running(programs[name], folder, f"--kubeconfig={file}", *words))
        yield


def add_nodes(server: ApiServer, names: list[str], gpus: int) -> None:
    """Ready when this returns."""
    for name in names:
        server.api.create(node(name, gpus))
    until(lambda: set(names) <= set(ready_nodes(server)), "that the simulated nodes are ready")


def kill_node(server: ApiServer, name: str) -> None:
    """Its kubelet says nothing any more; what runs there goes on, for all that anybody knows."""
    server.api.patch("Node", name, "", {"metadata": {"labels": {SIMULATED: None}}})


def revive_node(server: ApiServer, name: str) -> None:
    server.api.patch("Node", name, "", {"metadata": {"labels": {SIMULATED: "yes"}}})


def ready_nodes(server: ApiServer) -> list[str]:
    """By name."""
    return [
        each["metadata"]["name"]
        for each in server.api.list_all("Node", f"{SIMULATED}=yes").things
        if any(
            one["type"] == "Ready" and one["status"] == "True" for one in each["status"].get("conditions", ())
        )
    ]
