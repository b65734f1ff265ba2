"""Build the container images of Kubernetes: one static program each, some above the distribution's network tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.bundle.build_cache import BuildCache
from worker.bundle.root_files import write_package_layer
from worker.oci.layers import (
    Layer,
    RunSettings,
    add_file_to_layer,
    finish_plain_layer,
    open_layer_tar,
    write_image_archive,
)

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
class ImageRecipe:
    image: str
    """Its key in the sources map."""
    programs: Mapping[str, str]
    """By its path in the image: the program that goes there."""
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    has_network_tools: bool = False
    version: str = ""
    """Of what is in it, where the image's name says another thing."""


def _static(image: str, *programs: str) -> ImageRecipe:
    return ImageRecipe(image, {f"usr/local/bin/{name}": name for name in programs})


# Paths, entrypoints and users are those that kubeadm and the add-ons' manifests count on.
IMAGE_RECIPES = (
    _static("kube_apiserver", "kube-apiserver"),
    _static("kube_controller_manager", "kube-controller-manager"),
    _static("kube_scheduler", "kube-scheduler"),
    _static("etcd", "etcd", "etcdctl", "etcdutl"),
    ImageRecipe("coredns", {"coredns": "coredns"}, ("/coredns",)),
    ImageRecipe("pause", {"pause": "pause"}, ("/pause",), user="65535:65535"),
    ImageRecipe("kube_proxy", {"usr/local/bin/kube-proxy": "kube-proxy"}, has_network_tools=True),
    ImageRecipe("flannel", {"opt/bin/flanneld": "flanneld"}, ("/opt/bin/flanneld",), has_network_tools=True),
    ImageRecipe("flannel_cni", {"flannel": "flannel"}, ("/flannel",), has_network_tools=True),
    ImageRecipe("kueue", {"manager": "kueue"}, ("/manager",), user="65532:65532"),
    ImageRecipe("mpi_operator", {"opt/mpi-operator": "mpi-operator"}, ("/opt/mpi-operator",)),
    ImageRecipe(
        "rdma_device_plugin", {"bin/k8s-rdma-shared-dp": "k8s-rdma-shared-dp"}, ("/bin/k8s-rdma-shared-dp",)
    ),
    ImageRecipe(
        "nvidia_device_plugin",
        {"usr/bin/nvidia-device-plugin": "nvidia-device-plugin"},
        ("/usr/bin/nvidia-device-plugin",),
        has_network_tools=True,
    ),
)


def build_network_layer(debs: Sequence[Path], folder: Path) -> Layer:
    """The layer that the images on the network tools share: an engine keeps it once."""
    path = folder / "network-tools.tar"
    chosen = [deb for deb in debs if deb.name.split("_")[0] not in LEFT_OUT_PACKAGES]
    write_package_layer(path, chosen, ALTERNATIVES)
    return finish_plain_layer(path)


def build_kubernetes_image(
    recipe: ImageRecipe,
    reference: str,
    programs: Mapping[str, Path],
    licences: Mapping[str, Path],
    tools: Layer | None,
    target: Path,
    shop: BuildCache,
) -> None:
    shop.report("packing image {name}", name=reference)
    path = target.with_name(f".{target.name}.layer")
    with open_layer_tar(path) as tar:
        for place, name in recipe.programs.items():
            add_file_to_layer(tar, place, programs[name])
            add_file_to_layer(tar, f"{LICENCES}/{name}.txt", licences[name], 0o644)
    own = finish_plain_layer(path)
    layers = [tools, own] if recipe.has_network_tools and tools else [own]
    write_image_archive(target, reference, layers, RunSettings(recipe.entrypoint, recipe.user))
    path.unlink()
