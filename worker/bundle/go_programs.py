"""The Go programs of a bundle and how one of them is compiled; each folder of `go/` pins its modules by version and
sum."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.bundle.sources import Module

FOLDERS = Path(__file__).parent / "go"
OWN_PACKAGE = "."
"""The package in the folder itself: a program of ours, or one that upstream's own main cannot give."""
EXCLUDED_BACKENDS = ("pkg/backend/tencentvpc", "pkg/backend/udp")
"""Of flannel: one cloud's network, whose modules the proxy does not serve, and one that needs cgo."""


@dataclass(frozen=True)
class GoProgram:
    name: str
    folder: str
    """In `go/`, and of the module in the sources map."""
    package: str
    version_at: tuple[str, ...] = ()
    """Variables that the linker sets; {version} is as v1.34.4, {major} and {minor} its parts."""
    needs_c: bool = False
    """Whether it is linked against the C library, which its image then has to hold."""

    def flags(self, module: Module | None) -> str:
        parts = module.version.removeprefix("v").split(".") if module else ["", ""]
        values = {"version": module.version if module else "", "major": parts[0], "minor": parts[1]}
        return " ".join(["-s", "-w", *(f"-X {each.format(**values)}" for each in self.version_at)])


def _kubernetes(name: str) -> GoProgram:
    place = "k8s.io/component-base/version"
    # kubeadm takes the version of the images from its own.
    set_by_linker = (
        f"{place}.gitVersion={{version}}",
        f"{place}.gitMajor={{major}}",
        f"{place}.gitMinor={{minor}}",
    )
    return GoProgram(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", set_by_linker)


PROGRAMS = (
    *map(_kubernetes, ("kubectl", "kubeadm", "kubelet", "kube-apiserver")),
    *map(_kubernetes, ("kube-controller-manager", "kube-scheduler", "kube-proxy")),
    GoProgram("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    GoProgram("etcdctl", "etcd", "go.etcd.io/etcd/etcdctl/v3"),
    GoProgram("etcdutl", "etcd", "go.etcd.io/etcd/etcdutl/v3"),
    GoProgram("pause", "pause", OWN_PACKAGE),
    GoProgram("coredns", "coredns", OWN_PACKAGE),
    GoProgram(
        "flanneld", "flannel", OWN_PACKAGE, ("github.com/flannel-io/flannel/pkg/version.Version={version}",)
    ),
    GoProgram("flannel", "cni", "github.com/containernetworking/plugins/plugins/meta/flannel"),
    GoProgram("mpi-operator", "mpi-operator", "github.com/kubeflow/mpi-operator/cmd/mpi-operator"),
    GoProgram(
        "kueue",
        "kueue",
        "sigs.k8s.io/kueue/cmd/kueue",
        ("sigs.k8s.io/kueue/pkg/version.GitVersion={version}",),
    ),
    GoProgram(
        "k8s-rdma-shared-dp",
        "rdma-shared-device-plugin",
        "github.com/Mellanox/k8s-rdma-shared-dev-plugin/cmd/k8s-rdma-shared-dp",
    ),
    GoProgram(
        "nvidia-device-plugin",
        "nvidia-device-plugin",
        "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin",
        needs_c=True,
    ),
)


def module_of_program(program: GoProgram, modules: Mapping[str, Module]) -> Module | None:
    """None for a program of ours."""
    return modules.get(program.folder)
