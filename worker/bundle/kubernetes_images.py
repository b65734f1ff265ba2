"""Build the container images of Kubernetes: one static program each, some of them on a layer of network tools."""

import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.oci.image_archive import ImageConfig, write_docker_archive
from worker.oci.layers import ImageLayer, add_file_to_layer, add_parent_folders, open_layer_tar, plain_layer

NETWORK_TOOLS = (
    *("iptables", "nftables", "iproute2", "ipset", "conntrack", "kmod"),
    *("coreutils", "dash", "libc6", "ca-certificates"),
)
"""The packages whose programs kube-proxy and flannel call. flannel's manifest copies its plugin with `cp`."""
LEFT_OUT_PACKAGES = frozenset({"debconf", "perl-base", "dpkg", "openssl"})
"""Only the maintainer scripts of other packages need these packages, and the scripts are not run."""
ALTERNATIVES = {
    "usr/bin/sh": "dash",
    **{
        f"usr/sbin/{name}{more}": "xtables-nft-multi"
        for name in ("iptables", "ip6tables")
        for more in ("", "-save", "-restore")
    },
}
LICENCES = "licences"
CREATED_BY = "groundcrew-bundle"


@dataclass(frozen=True)
class ImageRecipe:
    image: str
    """The image's key in the sources map."""
    programs: Mapping[str, str]
    """The program for each path in the image."""
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    has_network_tools: bool = False
    version: str = ""
    """The version of the contents, if the image's name has another one."""


def _static(image: str, *programs: str) -> ImageRecipe:
    return ImageRecipe(image, {f"usr/local/bin/{name}": name for name in programs})


# Paths, entrypoints and users are those that kubeadm and the add-ons' manifests expect.
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


def build_network_layer(debs: Sequence[Path], folder: Path) -> ImageLayer:
    """Builds the layer of network tools. Images share it, so that an engine stores it once."""
    path = folder / "network-tools.tar"
    chosen = [deb for deb in debs if deb.name.split("_")[0] not in LEFT_OUT_PACKAGES]
    write_package_layer(path, chosen, ALTERNATIVES)
    return plain_layer(path, CREATED_BY)


def build_kubernetes_image(
    recipe: ImageRecipe,
    reference: str,
    programs: Mapping[str, Path],
    licences: Mapping[str, Path],
    tools: ImageLayer | None,
    target: Path,
    build_cache: BuildCache,
) -> None:
    build_cache.print_progress("packing image {name}", name=reference)
    path = target.with_name(f".{target.name}.layer")
    with open_layer_tar(path) as tar:
        for place, name in recipe.programs.items():
            add_file_to_layer(tar, place, programs[name])
            add_file_to_layer(tar, f"{LICENCES}/{name}.txt", licences[name], 0o644)
    own = plain_layer(path, CREATED_BY)
    layers = [tools, own] if recipe.has_network_tools and tools else [own]
    config = ImageConfig(entrypoint=recipe.entrypoint, user=recipe.user)
    write_docker_archive(target, reference, layers, config)
    path.unlink()


MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into usr/ because distributions have merged them."""
EXCLUDED_PATHS = (
    "usr/share/man/",
    "usr/share/locale/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/bash-completion/",
)
DOCUMENTS = "usr/share/doc/"
SPECIAL_FOLDERS = {
    "proc": 0o555,
    "sys": 0o555,
    "dev": 0o755,
    "run": 0o755,
    "tmp": 0o1777,
    "root": 0o700,
    "var/lib": 0o755,
}


def write_package_layer(layer: Path, debs: Sequence[Path], links: dict[str, str]) -> None:
    """Writes the packages' files into the layer. `links` replace what the packages' scripts would create, as
    update-alternatives does.
    """
    with open_layer_tar(layer) as tar:
        for name in MERGED:
            _add_link(tar, name, f"usr/{name}")
        for name, mode in SPECIAL_FOLDERS.items():
            add_parent_folders(tar, name)
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)
        seen = set(tar.getnames())
        for deb in sorted(debs, key=lambda path: path.name):
            _add_package(tar, deb, seen)
        for name, target in sorted(links.items()):
            if name not in seen:
                _add_link(tar, name, target)


def _add_package(tar: tarfile.TarFile, deb: Path, seen: set[str]) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as content:
            for info in content:
                name = usr_merged_path(info.name)
                if not name or name in seen or is_excluded_path(name):
                    continue
                file = content.extractfile(info) if info.isreg() else None
                tar.addfile(_plain(info, name), file)
                seen.add(name)
        if process.wait() != 0:
            raise CollectingFailed("{file} cannot be unpacked", file=deb)


def usr_merged_path(name: str) -> str:
    """The path below the root. /bin, /sbin and /lib become folders of usr/."""
    plain = name.removeprefix("./").strip("/")
    if plain == ".":
        return ""
    return f"usr/{plain}" if plain.split("/")[0] in MERGED else plain


def is_excluded_path(name: str) -> bool:
    """Whether the path is a manual, a translation or a document. Each package's copyright file is kept."""
    if name.startswith(DOCUMENTS):
        depth = name.removeprefix(DOCUMENTS).count("/")
        return depth > 1 or (depth == 1 and not name.endswith("/copyright"))
    return f"{name}/".startswith(EXCLUDED_PATHS)


def _plain(info: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode, made.size = info.type, info.mode, info.size
    made.linkname = usr_merged_path(info.linkname) if info.islnk() else info.linkname
    return made


def _add_link(tar: tarfile.TarFile, name: str, target: str) -> None:
    add_parent_folders(tar, name)
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
    tar.addfile(info)
