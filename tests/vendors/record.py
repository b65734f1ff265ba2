"""Record what the archives of Debian 12 and Ubuntu 24.04 say today: `python -m tests.vendors.record`.

Both are asked by apt in a folder of its own, with their signatures checked. Written are the stanzas of drivers, kernels
and RDMA, and of all else that these need the names, versions and what they provide, as if it were installed.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.vendors.private_apt import private_options
from tests.vendors.stanzas import FOLDER

OF_INTEREST = re.compile(
    r".*nvidia.*|linux-.*|.*glx.*|libcuda.*|rdma-core|libib.*|librdma.*|ibverbs.*|infiniband-.*|perftest|dkms"
    r"|containerd|runc|.*fabricmanager.*|libvdpau.*|libnv.*"
)
KEPT = (
    "Package",
    "Source",
    "Version",
    "Pre-Depends",
    "Depends",
    "Conflicts",
    "Breaks",
    "Provides",
    "Multi-Arch",
)
BASE = ("Package", "Version", "Provides", "Multi-Arch")
UBUNTUS_KEY = "F6ECB3762474EDA9D21B7022871920D1991BC93C"
RDMA = ("rdma-core", "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest")
FLAVOURS = ("generic", "generic-hwe-24.04", "lowlatency", "nvidia", "nvidia-hwe-24.04")


@dataclass(frozen=True)
class Archive:
    """One distribution, the groups of packages that are looked at, and the key that signs."""

    name: str
    sources: str
    calls: tuple[tuple[str, ...], ...]
    keyring: Path | None = None


def ubuntu_calls() -> tuple[tuple[str, ...], ...]:
    calls: list[tuple[str, ...]] = [(*RDMA, "dkms"), ("containerd", "runc"), ("nvidia-driver-580-open",)]
    for kind in ("server-open", "server"):
        user_space = (f"nvidia-headless-no-dkms-580-{kind}", "nvidia-utils-580-server")
        for flavour in FLAVOURS:
            kernel = (f"linux-image-{flavour}", f"linux-headers-{flavour}")
            calls.append((*kernel, *user_space, f"linux-modules-nvidia-580-{kind}-{flavour}"))
    return (*calls, ("nvidia-fabricmanager-580", "nvidia-compute-utils-580-server"))


ARCHIVES = (
    Archive(
        "debian-bookworm",
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\n"
        "Components: main contrib non-free non-free-firmware\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
        (
            (*RDMA, "dkms"),
            ("containerd", "runc"),
            ("linux-image-amd64", "linux-headers-amd64"),
            ("linux-image-cloud-amd64", "linux-headers-cloud-amd64"),
            ("nvidia-driver", "nvidia-kernel-dkms", "nvidia-smi", "nvidia-persistenced", "nvidia-settings"),
            ("nvidia-open-kernel-dkms", "nvidia-modprobe", "nvidia-xconfig"),
        ),
    ),
    Archive(
        "ubuntu-noble",
        "Types: deb\nURIs: http://archive.ubuntu.com/ubuntu\nSuites: noble noble-updates\n"
        "Components: main restricted universe multiverse\n",
        ubuntu_calls(),
    ),
)


def open_apt(archive: Archive, folder: Path) -> list[str]:
    """The options of an apt that knows this archive and nothing else, with its lists fetched and checked."""
    for part in ("state/lists/partial", "cache/archives/partial", "sources"):
        (folder / part).mkdir(parents=True)
    for name in ("status", "preferences"):
        (folder / name).touch()
    options = private_options(folder)
    source = folder / "sources" / "archive.sources"
    if "Signed-By" in archive.sources:
        source.write_text(archive.sources)
    else:
        source.write_text(f"{archive.sources}Trusted: yes\n")
        run(["apt-get", *options, "update"], folder)
        keyring = ubuntus_keyring(options, folder)
        source.write_text(f"{archive.sources}Signed-By: {keyring}\n")
        shutil.rmtree(folder / "state" / "lists")
        (folder / "state" / "lists" / "partial").mkdir(parents=True)
    run(["apt-get", *options, "update"], folder)
    return options


def ubuntus_keyring(options: Sequence[str], folder: Path) -> Path:
    """From the archive's own package, accepted because the fingerprint is the published one. Raises SystemExit."""
    run(["apt-get", *options, "download", "ubuntu-keyring"], folder)
    (package,) = folder.glob("ubuntu-keyring_*.deb")
    run(["dpkg-deb", "--extract", str(package), str(folder / "keyring")], folder)
    keyring = folder / "keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg"
    shown = run(["gpg", "--show-keys", "--with-colons", str(keyring)], folder)
    if f":{UBUNTUS_KEY}:" not in shown:
        raise SystemExit(f"the archive's keyring does not have the key {UBUNTUS_KEY}")
    return keyring


def run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/bin"},
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def record(archive: Archive) -> None:
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        options = open_apt(archive, folder)
        found: set[str] = set()
        for call in archive.calls:
            shown = run(
                ["apt-get", *options, "--simulate", "--no-install-recommends", "install", *call], folder
            )
            found |= set(re.findall(r"^Inst (\S+)", shown, re.MULTILINE))
        shown = run(["apt-cache", *options, "show", "--no-all-versions", *sorted(found)], folder)
    stanzas = [dict(_lines(block)) for block in shown.strip().split("\n\n")]
    wanted = [each for each in stanzas if OF_INTEREST.fullmatch(each["Package"])]
    base = [each for each in stanzas if not OF_INTEREST.fullmatch(each["Package"])]
    _write(archive.name, wanted, KEPT, f"{archive.name}-archive")
    _write(f"{archive.name}-base", base, BASE, f"{archive.name}-archive")


def _lines(block: str) -> list[tuple[str, str]]:
    lines = [line for line in block.splitlines() if not line.startswith(" ")]
    return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]


def _write(name: str, stanzas: Sequence[dict[str, str]], kept: Sequence[str], source: str) -> None:
    texts = []
    for stanza in sorted(stanzas, key=lambda each: each["Package"]):
        texts.append("\n".join(f"{field}: {stanza[field]}" for field in kept if field in stanza))
    head = f"# Written by tests/vendors/record.py.\n# Source of every field: {source}\n\n"
    (FOLDER / f"{name}.packages").write_text(head + "\n\n".join(texts) + "\n")
    print(f"{name}: {len(texts)} packages")


def main() -> None:
    chosen = sys.argv[1:]
    for archive in ARCHIVES:
        if not chosen or archive.name in chosen:
            record(archive)


if __name__ == "__main__":
    main()
