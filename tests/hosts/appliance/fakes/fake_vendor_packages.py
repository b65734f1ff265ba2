"""A signed apt repository of packages with the vendors' names and versions, whose tools record how they are called.

Names, versions and dependencies are those that are recorded in tests/data/vendors; what is inside the packages is
ours: a few shell scripts and units, no line of a vendor's.
"""

import gzip
import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.vendors.stanzas import Stanza, read_stanzas

RECORD = '#!/bin/sh\necho "$(basename "$0") $*" >> /var/log/stand-in.calls\n'
LOADER = """#!/bin/sh
# At the machine's start: what a kernel with these packages would have loaded.
mkdir -p /hardware/sys/module
echo start >> /hardware/starts
[ -e /etc/modprobe.d/groundcrew-nouveau.conf ] && rm -rf /hardware/sys/module/nouveau
[ -e /hardware/refused ] && exit 0
if dpkg-query -W -f '${Status}' nvidia-driver-cuda 2>/dev/null | grep -q ' ok installed'; then
  mkdir -p /hardware/sys/module/nvidia
  dpkg-query -W -f '${Version}' nvidia-driver-cuda | cut -d- -f1 > /hardware/sys/module/nvidia/version
fi
"""


@dataclass(frozen=True)
class Package:
    """`files`: content by path; what lies in a bin folder is made executable. `units` are enabled at installation."""

    name: str
    version: str
    relations: Mapping[str, str] = field(default_factory=dict)
    """Depends, Provides and so on, as a control file has them."""
    files: Mapping[str, str] = field(default_factory=dict)
    units: Sequence[str] = ()


def unit(command: str, kind: str = "oneshot", extra: str = "") -> str:
    return (
        f"[Unit]\nDescription=stand-in\n[Service]\nType={kind}\n{extra}ExecStart={command}\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


KERNEL = "6.1.0-50-amd64"
"""What runs on the host, by its name; newer stand-ins of the distribution's own packages are what apt takes."""
NEWER = "99.0-1"
RELATIONS = ("Source", "Pre-Depends", "Depends", "Conflicts", "Breaks", "Provides")
SMI = f"""{RECORD}dpkg-query -W -f 'NVIDIA-SMI ${{Version}}\\n' nvidia-driver-cuda
"""
FABRIC = """[ "$1" = --version ] || exec sleep infinity
dpkg-query -W -f 'Fabric Manager version is : ${Version}\\n' nvidia-fabricmanager
"""
FILES: dict[str, Mapping[str, str]] = {
    "nvidia-smi": {"/usr/bin/nvidia-smi": SMI},
    "nvidia-driver-cuda": {
        "/usr/lib/stand-in/bin/load": LOADER,
        "/lib/systemd/system/stand-in-load.service": unit(
            "/usr/lib/stand-in/bin/load", extra="RemainAfterExit=yes\n"
        ),
    },
    "nvidia-persistenced": {
        "/usr/bin/nvidia-persistenced": RECORD + "exec sleep infinity\n",
        "/lib/systemd/system/nvidia-persistenced.service": unit(
            "/usr/bin/nvidia-persistenced --no-persistence-mode --verbose", "simple"
        ).partition("[Install]")[0],
    },
    "nvidia-fabricmanager": {
        "/usr/bin/nv-fabricmanager": RECORD + FABRIC,
        "/lib/systemd/system/nvidia-fabricmanager.service": unit("/usr/bin/nv-fabricmanager", "simple"),
    },
    "nvidia-container-toolkit-base": {
        "/usr/bin/nvidia-ctk": RECORD + "mkdir -p /var/run/cdi && echo '{}' > /var/run/cdi/nvidia.yaml\n",
        "/lib/systemd/system/nvidia-cdi-refresh.path": (
            "[Path]\nPathChanged=/hardware/sys/module/nvidia/version\n[Install]\nWantedBy=multi-user.target\n"
        ),
        "/lib/systemd/system/nvidia-cdi-refresh.service": unit(
            "/usr/bin/nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml"
        ),
    },
    "doca-ofed": {"/usr/bin/ofed_info": f"{RECORD}echo OFED-internal\n"},
    "infiniband-diags": {"/usr/sbin/ibstat": f"{RECORD}echo \"CA 'mlx5_0'\"\n"},
}
UNITS = {"nvidia-driver-cuda": ("stand-in-load.service",)}


def made_of(stanza: Stanza) -> Package:
    """With our own content in place of the vendor's."""
    relations = {name: stanza.get(name) for name in RELATIONS if stanza.get(name)}
    name = stanza["Package"]
    return Package(name, stanza["Version"], relations, FILES.get(name, {}), UNITS.get(name, ()))


def of_the_distribution() -> list[Package]:
    """In place of some hundred megabytes of kernel and compiler."""
    disks = {
        "/usr/sbin/update-initramfs": RECORD + "touch /boot/initrd.img-*\n",
        "/boot/initrd.img-99": "",
    }
    status = {"/usr/sbin/dkms": f"{RECORD}echo stand-in/1, {KERNEL}, x86_64: installed\n"}
    return [
        Package("linux-image-amd64", NEWER, files=disks),
        Package("linux-headers-amd64", NEWER),
        Package(f"linux-headers-{KERNEL}", NEWER),
        Package("dkms", NEWER, files=status),
    ]


def everything() -> dict[str, list[Package]]:
    """Each vendor's packages by the name of its repository, with newer and other ones beside those that are wanted."""
    return {
        "nvidia_driver": [
            *map(made_of, read_stanzas("nvidia-debian12")),
            *of_the_distribution(),
            *another_branch(),
        ],
        "nvidia_container_toolkit": list(map(made_of, read_stanzas("libnvidia-container"))),
        "doca_ofed": [*map(made_of, read_stanzas("doca-debian12")), *of_the_distribution()],
        "mlnx_ofed": [Package("mlnx-ofed-all", "24.10-3.2.5.0")],
    }


def another_branch() -> list[Package]:
    return [Package("nvidia-open-570", "570.10.00-1")]


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
        *(f"{name}: {value}" for name, value in package.relations.items()),
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
