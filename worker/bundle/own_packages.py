"""Builds Debian packages of this product, with upstream's names, versions and unit files."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.bundle.build_cache import BuildCache

UNIT_FILES = Path(__file__).parent / "packages"
UNITS = "usr/lib/systemd/system"


@dataclass(frozen=True)
class DebPackage:
    name: str
    version: str
    depends: tuple[str, ...]
    about: str
    files: Mapping[str, Path]
    """The file for each path of the package, without the leading slash."""
    after_unpacking: Path | None = None
    """The script that dpkg runs when the package's files are there."""

    @property
    def file_name(self) -> str:
        return f"{self.name}_{self.version}_amd64.deb"


def kubernetes_packages(
    version: str, programs: Mapping[str, Path], licences: Mapping[str, Path]
) -> list[DebPackage]:
    """Builds kubelet and kubeadm like pkgs.k8s.io, but with the distribution's CNI plugins and without cri-tools."""
    cni = "containernetworking-plugins"
    units = {
        f"{UNITS}/kubelet.service": UNIT_FILES / "kubelet.service",
        f"{UNITS}/kubelet.service.d/10-kubeadm.conf": UNIT_FILES / "10-kubeadm.conf",
    }
    needs = {
        "kubectl": (),
        "kubelet": ("iptables", "nftables", "iproute2", "mount", "util-linux", "ethtool", "conntrack", cni),
        "kubeadm": (f"kubelet (= {version})", f"kubectl (= {version})"),
    }
    return [
        DebPackage(
            name,
            version,
            depends,
            f"{name}, built by Groundcrew from upstream's Go modules",
            {
                f"usr/bin/{name}": programs[name],
                f"usr/share/doc/{name}/copyright": licences[name],
                **(units if name == "kubelet" else {}),
            },
        )
        for name, depends in needs.items()
    ]


def flannel_package(version: str, plugin: Path, licence: Path) -> DebPackage:
    """Builds the package of the one CNI plugin that the distribution's package lacks."""
    name = "groundcrew-cni-flannel"
    files = {"usr/lib/cni/flannel": plugin, f"usr/share/doc/{name}/copyright": licence}
    about = "flannel's CNI plugin, built by Groundcrew from upstream's Go modules"
    return DebPackage(name, version, ("containernetworking-plugins",), about, files)


def container_engine_packages(
    versions: Mapping[str, str], programs: Mapping[str, Path], licences: Mapping[str, Path]
) -> list[DebPackage]:
    """Builds containerd and runc under the distribution's names and in the place of its versions.

    Debian's containerd has no CDI, by which pods get GPUs, and its runc lacks fixes.
    """
    names = ("containerd", "containerd-shim-runc-v2", "ctr")
    about = "built by Groundcrew from upstream's Go modules"
    engine = {
        **{f"usr/bin/{name}": programs[name] for name in names},
        # The distribution's package has it in this place; dpkg must not take it away with that package's files.
        "lib/systemd/system/containerd.service": UNIT_FILES / "containerd.service",
        "usr/share/doc/containerd/copyright": licences["containerd"],
    }
    # runc is linked against the C library and against libseccomp.
    runc = {"usr/sbin/runc": programs["runc"], "usr/share/doc/runc/copyright": licences["runc"]}
    return [
        DebPackage(
            "containerd",
            versions["containerd"],
            ("runc",),
            f"containerd, {about}",
            engine,
            UNIT_FILES / "containerd.postinst",
        ),
        DebPackage("runc", versions["runc"], ("libc6", "libseccomp2"), f"runc, {about}", runc),
    ]


def build_deb(package: DebPackage, target: Path, build_cache: BuildCache) -> None:
    """Runs dpkg-deb. The package is compressed lightly, because it is read from a disk or a local network."""
    tree = target.with_name(f".{target.name}.tree")
    shutil.rmtree(tree, ignore_errors=True)
    for place, content in package.files.items():
        file = tree / place
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(content, file)
        file.chmod(0o755 if "bin/" in place or "/cni/" in place else 0o644)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(_control(package))
    if package.after_unpacking:
        shutil.copyfile(package.after_unpacking, tree / "DEBIAN" / "postinst")
        (tree / "DEBIAN" / "postinst").chmod(0o755)
    for folder in [tree, *(path for path in tree.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    options = ["--root-owner-group", "-Zzstd", "-z3", "--build"]
    build_cache.run(["dpkg-deb", *options, tree, target], more={"SOURCE_DATE_EPOCH": "0"})
    shutil.rmtree(tree)


def _control(package: DebPackage) -> str:
    size = sum(content.stat().st_size for content in package.files.values()) // 1024
    lines = [
        f"Package: {package.name}",
        f"Version: {package.version}",
        "Architecture: amd64",
        "Maintainer: Groundcrew <root@localhost>",
        f"Installed-Size: {size}",
        *([f"Depends: {', '.join(package.depends)}"] if package.depends else []),
        "Section: admin",
        "Priority: optional",
        f"Description: {package.about}",
    ]
    return "\n".join(lines) + "\n"
