"""A bare Debian 12 machine to try a newcomer's way on: its own root, its own processes, nothing preinstalled.

Made by debootstrap, entered by namespaces (needs root, no container engine). It has no init system:
``machine.run`` types a command there, and whatever a command leaves behind lives until ``machine.close``.
"""

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CERTIFICATES = Path("/usr/local/share/ca-certificates")
PREINSTALLED = "ca-certificates,git,make"
"""What a newcomer has typed before: apt-get install git make."""

HOLDER = """
import os, signal, sys, time
os.chroot(sys.argv[1])
os.chdir("/")
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.1)
"""

MOUNTS = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount -t tmpfs -o mode=755 dev "$1/dev"
for each in null zero full random urandom tty; do
  touch "$1/dev/$each"; mount --bind /dev/$each "$1/dev/$each"
done
mkdir "$1/dev/shm" "$1/dev/pts"
mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
exec "$2" -c "$3" "$1"
"""


@dataclass(frozen=True)
class BareMachine:
    """One such machine: the folder that is its root, and the process that holds its namespaces open."""

    root: Path
    holder: "subprocess.Popen[bytes]"
    first: int

    def run(
        self, command: str, environment: Mapping[str, str] | None = None, seconds: float = 1800
    ) -> "subprocess.CompletedProcess[str]":
        """Type a command there as root, without a terminal; output and errors come back together."""
        return subprocess.run(
            ["nsenter", "-t", str(self.first), "-m", "-p", "-r", "-w", "/bin/sh", "-c", command],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )

    def processes(self) -> list[str]:
        """The command lines of everything that lives there, its first process aside; seen from outside."""
        namespace = Path(f"/proc/{self.first}/ns/pid").readlink()
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if Path(f"/proc/{process.pid}/ns/pid").readlink() == namespace and process.pid != self.first:
                    found.append(" ".join(process.cmdline()))
        return [command for command in found if command]


def image(cache: Path) -> Path:
    """The root file system of a fresh Debian 12, made once per machine (about half a minute)."""
    target = cache / "bare-debian-12"
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix="bare-debian-12.building.", dir=cache))
    building.chmod(0o755)
    subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PREINSTALLED}", "bookworm", str(building)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    bring_what_the_site_gives_every_machine(building)
    building.rename(target)
    return target


def bring_what_the_site_gives_every_machine(root: Path) -> None:
    """Package sources and the site's certificates, as an administrator's installation image has them."""
    sources = root / "etc" / "apt"
    for name in ("sources.list", "sources.list.d/debian.sources"):
        own = Path("/etc/apt") / name
        if own.exists():
            (sources / "sources.list").unlink(missing_ok=True)
            shutil.copy(own, sources / name)
            break
    for each in CERTIFICATES.glob("*.crt"):
        shutil.copy(each, root / CERTIFICATES.relative_to("/"))
    subprocess.run(["chroot", str(root), "update-ca-certificates"], check=True, capture_output=True)


@contextmanager
def bare_machine(cache: Path, folder: Path) -> Iterator[BareMachine]:
    """A fresh machine in the folder; ended with all its processes and deleted afterwards."""
    root = folder / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(image(cache)), str(root)], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    # As the distribution's own installer writes it.
    (root / "etc" / "hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n")
    holder = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--"]
        + ["/bin/sh", "-c", MOUNTS, "sh", str(root), "/usr/bin/python3", HOLDER],
    )
    try:
        yield BareMachine(root, holder, first_process(holder.pid))
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        remove(root)


def first_process(unshare: int) -> int:
    """The process that is number 1 there, once it has changed its root."""
    for _ in range(200):
        children = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
        if children and str(Path(f"/proc/{children[0]}/root").readlink()) != "/":
            return int(children[0])
        time.sleep(0.05)
    raise RuntimeError("the bare machine did not start within 10 s")


def remove(root: Path) -> None:
    """Nothing is mounted in it here: its mounts were in its own namespace, which ended with it."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True)


if __name__ == "__main__":
    with bare_machine(Path(sys.argv[1]), Path(tempfile.mkdtemp(dir="/var/tmp"))) as one:
        print(f"nsenter -t {one.first} -m -p -r -w bash", flush=True)
        one.holder.wait()
