"""The images that a bundle is built with: one static program each, a few on the distribution's network tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.bundle.image import Layer, Settings, add_file, finished_layer, new_layer, write_archive
from worker.bundle.root_files import write_root
from worker.bundle.workshop import Workshop

NETWORK_TOOLS = (
    *("iptables", "nftables", "iproute2", "ipset", "conntrack", "kmod"),
    *("coreutils", "dash", "libc6", "ca-certificates"),
)
"""What kube-proxy and flannel call; `cp` is what flannel's manifest copies its plugin with."""
LEFT_OUT_PACKAGES = frozenset({"debconf", "perl-base", "dpkg", "openssl"})
"""Only the packages' own scripts need them, and those are not run."""
ALTERNATIVES = {
    "usr/bin/sh": "dash",
    **{
        f"usr/sbin/{name}{more}": "xtables-nft-multi"
        for name in ("iptables", "ip6tables")
        for more in ("", "-save", "-restore")
    },
}
LICENCES = "licences"


@dataclass(frozen=True)
class Recipe:
    image: str
    """Its key in the sources map."""
    programs: Mapping[str, str]
    """By its path in the image: the program that goes there."""
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    on_tools: bool = False
    version: str = ""
    """Of what is in it, where the image's name says another thing."""


def _static(image: str, *programs: str) -> Recipe:
    return Recipe(image, {f"usr/local/bin/{name}": name for name in programs})


# Paths, entrypoints and users are those that kubeadm and the add-ons' manifests count on.
RECIPES = (
    _static("kube_apiserver", "kube-apiserver"),
    _static("kube_controller_manager", "kube-controller-manager"),
    _static("kube_scheduler", "kube-scheduler"),
    _static("etcd", "etcd", "etcdctl", "etcdutl"),
    Recipe("coredns", {"coredns": "coredns"}, ("/coredns",)),
    Recipe("pause", {"pause": "pause"}, ("/pause",), user="65535:65535"),
    Recipe("kube_proxy", {"usr/local/bin/kube-proxy": "kube-proxy"}, on_tools=True),
    Recipe("flannel", {"opt/bin/flanneld": "flanneld"}, ("/opt/bin/flanneld",), on_tools=True),
    Recipe("flannel_cni", {"flannel": "flannel"}, ("/flannel",), on_tools=True),
    Recipe("kueue", {"manager": "kueue"}, ("/manager",), user="65532:65532"),
    Recipe("mpi_operator", {"opt/mpi-operator": "mpi-operator"}, ("/opt/mpi-operator",)),
    Recipe(
        "rdma_device_plugin", {"bin/k8s-rdma-shared-dp": "k8s-rdma-shared-dp"}, ("/bin/k8s-rdma-shared-dp",)
    ),
    Recipe(
        "nvidia_device_plugin",
        {"usr/bin/nvidia-device-plugin": "nvidia-device-plugin"},
        ("/usr/bin/nvidia-device-plugin",),
        on_tools=True,
    ),
)


def network_layer(debs: Sequence[Path], folder: Path) -> Layer:
    """The layer that the images on the network tools share: an engine keeps it once."""
    path = folder / "network-tools.tar"
    chosen = [deb for deb in debs if deb.name.split("_")[0] not in LEFT_OUT_PACKAGES]
    write_root(path, chosen, ALTERNATIVES)
    return finished_layer(path)


def build_image(
    recipe: Recipe,
    reference: str,
    programs: Mapping[str, Path],
    licences: Mapping[str, Path],
    tools: Layer | None,
    target: Path,
    shop: Workshop,
) -> None:
    shop.tell("packing image {name}", name=reference)
    path = target.with_name(f".{target.name}.layer")
    with new_layer(path) as tar:
        for place, name in recipe.programs.items():
            add_file(tar, place, programs[name])
            add_file(tar, f"{LICENCES}/{name}.txt", licences[name], 0o644)
    own = finished_layer(path)
    layers = [tools, own] if recipe.on_tools and tools else [own]
    write_archive(target, reference, layers, Settings(recipe.entrypoint, recipe.user))
    path.unlink()
