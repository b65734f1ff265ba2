"""A signed apt repository of packages with the vendors' names and versions, whose tools record how they are called.

For the roles that install NVIDIA's driver, its container toolkit and the RDMA stacks on hosts without that
hardware. What is inside the packages is ours: a few shell scripts and units, no line of a vendor's.
"""

import gzip
import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

RECORD = '#!/bin/sh\necho "$(basename "$0") $*" >> /var/log/stand-in.calls\n'
LOADER = """#!/bin/sh
# At the machine's start: what a kernel with these packages would have loaded.
mkdir -p /hardware/sys/module
echo start >> /hardware/starts
[ -e /etc/modprobe.d/groundcrew-nouveau.conf ] && rm -rf /hardware/sys/module/nouveau
if dpkg-query -W -f '${Status}' nvidia-driver-cuda 2>/dev/null | grep -q 'install ok installed'; then
  mkdir -p /hardware/sys/module/nvidia
  dpkg-query -W -f '${Version}' nvidia-driver-cuda | cut -d- -f1 > /hardware/sys/module/nvidia/version
fi
"""


@dataclass(frozen=True)
class Package:
    """`files`: content by path; what lies in a bin folder is made executable. `units` are enabled at installation."""

    name: str
    version: str
    depends: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    units: Sequence[str] = ()


def unit(command: str, kind: str = "oneshot", extra: str = "") -> str:
    return (
        f"[Unit]\nDescription=stand-in\n[Service]\nType={kind}\n{extra}ExecStart={command}\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def nvidia_driver(branch: str, version: str) -> list[Package]:
    """NVIDIA's repository for Debian: two meta packages over one user space."""
    same = f"(= {version})"
    smi = f'{RECORD}echo "NVIDIA-SMI {version.split("-")[0]}"\n'
    return [
        Package(
            f"nvidia-open-{branch}",
            version,
            (f"nvidia-kernel-open-dkms {same}", f"nvidia-driver-cuda {same}"),
        ),
        Package(
            f"cuda-drivers-{branch}", version, (f"nvidia-kernel-dkms {same}", f"nvidia-driver-cuda {same}")
        ),
        Package("nvidia-kernel-open-dkms", version),
        Package("nvidia-kernel-dkms", version),
        Package(
            "nvidia-driver-cuda",
            version,
            files={
                "/usr/bin/nvidia-smi": smi,
                "/usr/lib/stand-in/bin/load": LOADER,
                "/lib/systemd/system/stand-in-load.service": unit(
                    "/usr/lib/stand-in/bin/load", extra="RemainAfterExit=yes\n"
                ),
            },
            units=("stand-in-load.service",),
        ),
        Package(
            "nvidia-persistenced",
            version,
            files={
                "/usr/bin/nvidia-persistenced": RECORD + "exec sleep infinity\n",
                "/lib/systemd/system/nvidia-persistenced.service": unit(
                    "/usr/bin/nvidia-persistenced", "simple"
                ),
            },
        ),
        Package(
            f"nvidia-fabricmanager-{branch}",
            version,
            files={
                "/usr/bin/nv-fabricmanager": RECORD + "exec sleep infinity\n",
                "/lib/systemd/system/nvidia-fabricmanager.service": unit(
                    "/usr/bin/nv-fabricmanager", "simple"
                ),
            },
        ),
    ]


def container_toolkit(version: str) -> list[Package]:
    refresh = (
        "[Path]\nPathChanged=/hardware/sys/module/nvidia/version\n[Install]\nWantedBy=multi-user.target\n"
    )
    return [
        Package("nvidia-container-toolkit", version, (f"nvidia-container-toolkit-base (= {version})",)),
        Package(
            "nvidia-container-toolkit-base",
            version,
            files={
                "/usr/bin/nvidia-ctk": RECORD + 'echo "{}"\n',
                "/lib/systemd/system/nvidia-cdi-refresh.path": refresh,
                "/lib/systemd/system/nvidia-cdi-refresh.service": unit(
                    "/usr/bin/nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml"
                ),
            },
        ),
        Package("libnvidia-container-tools", version),
        Package("libnvidia-container1", version),
    ]


def rdma(name: str, version: str, said: str) -> Package:
    tools = {
        "/usr/bin/ofed_info": f"{RECORD}echo {said}\n",
        "/usr/sbin/ibstat": f"{RECORD}echo \"CA 'mlx5_0'\"\n",
    }
    return Package(name, version, files=tools)


def kernel(version: str = "99.0-1") -> list[Package]:
    """In place of a hundred megabytes; newer than the distribution's, so that apt takes these."""
    return [
        Package(
            "linux-image-amd64",
            version,
            files={
                "/usr/sbin/update-initramfs": RECORD + "touch /boot/initrd.img-*\n",
                "/boot/initrd.img-99": "",
            },
        ),
        Package("linux-headers-amd64", version),
    ]


def everything() -> dict[str, list[Package]]:
    """Each vendor's packages by the name of its repository, with newer and other ones beside those that are wanted."""
    return {
        "nvidia_driver": [
            *nvidia_driver("580", "580.105.08-1"),
            *nvidia_driver("580", "580.200.00-1"),
            *nvidia_driver("570", "570.10.00-1"),
            *kernel(),
        ],
        "nvidia_container_toolkit": [*container_toolkit("1.20.0-1"), *container_toolkit("1.21.0-1")],
        "doca_ofed": [
            rdma("doca-ofed", version, f"OFED-internal-{version}") for version in ("3.2.2-1", "3.5.0-1")
        ],
        "mlnx_ofed": [rdma("mlnx-ofed-all", "24.10-3.2.5.0", "MLNX_OFED_LINUX-24.10-3.2.5.0")],
    }


def build_repository(folder: Path, packages: Sequence[Package]) -> None:
    """A flat repository with its armoured key `key.asc`. Needs dpkg-deb and gpg."""
    folder.mkdir(parents=True)
    with TemporaryDirectory() as scratch:
        index = "".join(build_package(folder, Path(scratch), package) for package in packages)
    (folder / "Packages").write_text(index)
    (folder / "Packages.gz").write_bytes(gzip.compress(index.encode(), mtime=0))
    sums = "".join(
        f" {hashlib.sha256((folder / name).read_bytes()).hexdigest()} {(folder / name).stat().st_size} {name}\n"
        for name in ("Packages", "Packages.gz")
    )
    (folder / "Release").write_text(f"Origin: stand-in\nSuite: stable\nDate: {http_date()}\nSHA256:\n{sums}")
    with TemporaryDirectory() as home:
        sign(folder, Path(home))


def build_package(folder: Path, scratch: Path, package: Package) -> str:
    """Writes the .deb; returns its lines for the index."""
    root = scratch / f"{package.name}_{package.version}"
    for path, content in package.files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        target.chmod(0o755 if "bin" in target.parent.name else 0o644)
    control = root / "DEBIAN"
    control.mkdir(parents=True)
    lines = [
        f"Package: {package.name}",
        f"Version: {package.version}",
        "Architecture: amd64",
        "Maintainer: stand-in <stand-in@example.org>",
        *([f"Depends: {', '.join(package.depends)}"] if package.depends else []),
        "Description: stand-in for a vendor's package, for tests without the hardware",
    ]
    (control / "control").write_text("\n".join(lines) + "\n")
    if package.units:
        enable = control / "postinst"
        enable.write_text(f"#!/bin/sh\nset -e\nsystemctl enable {' '.join(package.units)} >/dev/null 2>&1\n")
        enable.chmod(0o755)
    name = f"{package.name}_{package.version}_amd64.deb"
    build = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(folder / name)]
    subprocess.run(build, check=True, capture_output=True)
    content = (folder / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return "\n".join([*lines, f"Filename: ./{name}", f"Size: {len(content)}", f"SHA256: {digest}", "", ""])


def sign(folder: Path, home: Path) -> None:
    gpg = [
        "gpg",
        "--homedir",
        str(home),
        "--batch",
        "--quiet",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
    ]
    steps = (
        ["--quick-generate-key", "stand-in@example.org", "ed25519", "sign", "never"],
        ["--armor", "--output", str(folder / "key.asc"), "--export"],
        ["--clearsign", "--output", str(folder / "InRelease"), str(folder / "Release")],
    )
    for step in steps:
        subprocess.run([*gpg, *step], check=True, capture_output=True)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)


def http_date() -> str:
    command = ["date", "-Ru"]
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}
    )
    return said.stdout.strip().replace("+0000", "UTC")
