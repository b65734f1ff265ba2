"""Hosts for the installer: containers in which systemd is process 1 and sshd answers, on a network of their own.

What a container may do is spelled out and never widened: its own cgroup namespace (else its systemd changes
the mounts of the machine below) and no right to set the clock (which has no namespace). Run trusted plays only.
"""

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tests.containers.engine import read_mtu
from tests.hosts.machines.host_image import docker

BOOTS_WITHIN = 120
"""Seconds."""
STORAGE = "/var/lib/groundcrew/storage"
FOLDERS = Path("/var/tmp")
"""Key, inventory and shared storage of a testbed lie here under its name: pytest's own folders go with later runs."""
FIRST_HOST = 10
"""The last number of the first host's address; the others' follow it."""
ONLOOKER = 9
"""The last number of the address of a browser that looks at the hosts."""
NOBODY = "192.0.2.53"
"""An address of documentation (RFC 5737)."""
RIGHTS = (
    *("--cgroupns", "private", "--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE", "--cap-drop", "SYS_TIME"),
    *("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"),
    *("--security-opt", "systempaths=unconfined", "--device-cgroup-rule", "a *:* rwm"),
    *("--device", "/dev/kmsg", "--device", "/dev/fuse", "--device", "/dev/net/tun"),
    *("--shm-size", "512m", "--sysctl", "net.ipv6.conf.all.disable_ipv6=0"),
    *("--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"),
)


@dataclass(frozen=True)
class Host:
    """One machine of the testbed, reached as root by the engine and as its administrator by ssh."""

    name: str
    address: str

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Types a command there as root; output and errors come back together."""
        return docker("exec", self.name, "/bin/sh", "-c", f"({command}) 2>&1", check=False)

    def ask(self, command: str) -> str:
        """What a command prints that must succeed."""
        done = self.run(command)
        assert done.returncode == 0, f"{self.name}: {command} ended with {done.returncode}: {done.stdout}"
        return done.stdout.strip()

    def wait_until(self, command: str, seconds: float = 60) -> None:
        """Until the command succeeds. Raises AssertionError with its last words."""
        deadline = time.monotonic() + seconds
        while (done := self.run(command)).returncode != 0:
            assert time.monotonic() < deadline, f"{self.name}: {command}: {done.stdout[-2000:]}"
            time.sleep(0.5)

    def wait_for_boot(self) -> None:
        self.wait_until("systemctl is-system-running | grep -qE '^(running|degraded)$'", BOOTS_WITHIN)

    def has_failed_units(self) -> str:
        """Names of units that have failed; empty where all is well."""
        return self.run("systemctl list-units --failed --no-legend --plain").stdout.strip()


@dataclass
class Testbed:
    """`name` begins every container and network of this one, so that several may live side by side."""

    name: str
    image: str
    folder: Path
    cache: Path
    hosts: dict[str, Host] = field(default_factory=dict)
    subnet: str = ""
    """The first three numbers of every host's address."""
    is_alone: bool = False
    """Whether no host has a way out: no default route, and a nameserver that nobody answers for."""
    shares: int = 0
    """Part of the processors, 1024 being everybody's; 0: as everybody."""
    shared: Path | None = None
    """A folder of this machine that every host has mounted as the installation's storage."""

    __test__ = False

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def network(self) -> str:
        return f"{self.name}-net"

    @property
    def nameserver(self) -> str:
        return NOBODY if self.is_alone else nameserver()

    def open(self) -> None:
        self.close()
        self.folder.mkdir(parents=True)
        if self.shared:
            self.shared.mkdir()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        self.subnet = self.create_network()

    def create_network(self) -> str:
        """Its first three numbers. A subnet of our own, so that hosts keep their addresses when they start anew."""
        mtu = f"com.docker.network.driver.mtu={read_mtu()}"
        for number in range(1, 255):
            three = f"10.213.{number}"
            alone = ("--internal",) if self.is_alone else ()
            words = (
                "network",
                "create",
                "--label",
                self.name,
                *alone,
                "-o",
                mtu,
                "--subnet",
                f"{three}.0/24",
            )
            done = docker(*words, self.network, check=False)
            if done.returncode == 0:
                return three
            if "overlap" not in done.stderr:
                break
        raise RuntimeError(f"the engine made no network: {done.stderr.strip()}")

    def close(self) -> None:
        """Removes every host, the network and the folder of this testbed; also what a killed run has left."""
        names = docker("ps", "-aq", "--filter", f"label={self.name}").stdout.split()
        if names:
            docker("rm", "-fv", *names)
        if docker("network", "ls", "-q", "--filter", f"label={self.name}").stdout.strip():
            docker("network", "rm", self.network)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.hosts.clear()

    def add(self, *names: str, lent: Sequence[Path] = (), published: Sequence[int] = ()) -> list[Host]:
        """Fresh hosts, booted and answering by ssh. Their names begin with the testbed's.

        `lent`: folders of this machine that they see at the same place and cannot write to; `published`: ports that
        this machine translates to theirs, see `translated`.
        """
        shown = [word for folder in lent for word in ("-v", f"{folder}:{folder}:ro")]
        shown += [word for port in published for word in ("-p", str(port))]
        for name in names:
            full = f"{self.name}-{name}"
            address = f"{self.subnet}.{FIRST_HOST + len(self.hosts)}"
            options = ("--ip", address, *self.options(full), *shown)
            docker("run", "-d", "--name", full, *options, self.image)
            self.hosts[name] = Host(full, address)
        fresh = [self.hosts[name] for name in names]
        for host in fresh:
            host.wait_for_boot()
            host.wait_until("systemctl is-active ssh")
        return fresh

    def translated(self, name: str, port: int) -> tuple[str, int]:
        """The address and the port by which this machine stands in for a host's own."""
        gateway = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}"
        address = docker("inspect", "-f", gateway, self.hosts[name].name).stdout.strip()
        said = docker("port", self.hosts[name].name, str(port)).stdout.splitlines()[0]
        return address, int(said.rpartition(":")[2])

    def restart(self, *names: str) -> None:
        """Starts these hosts anew, all at once, and waits until they are up."""
        hosts = [self.hosts[name] for name in names]
        docker("restart", "--time", "20", *(host.name for host in hosts))
        for host in hosts:
            host.wait_for_boot()

    def kill(self, name: str) -> None:
        """As if its power were cut; it stays off."""
        docker("kill", self.hosts[name].name)

    def power_on(self, name: str) -> None:
        docker("start", self.hosts[name].name)
        self.hosts[name].wait_for_boot()

    def options(self, full: str) -> list[str]:
        """What the machine keeps of compiled wheels is lent to each host, so that none of them compiles."""
        lent = [
            word
            for folder in sorted(self.cache.glob("wheels-*"))
            for word in ("-v", f"{folder}:/var/cache/groundcrew-services/{folder.name}:ro")
        ]
        return [
            *("--hostname", full, "--network", self.network, "--label", self.name, *RIGHTS, *lent),
            *("--restart", "unless-stopped", "-e", f"HOST_DNS={self.nameserver}"),
            *(("-e", "HOST_ALONE=1") if self.is_alone else ()),
            *(("-v", f"{self.shared}:{STORAGE}") if self.shared else ()),
            *(("--cpu-shares", str(self.shares)) if self.shares else ()),
            *("-e", f"HOST_KEY={self.key.with_suffix('.pub').read_text().strip()}"),
        ]

    def inventory(
        self,
        masters: Sequence[str],
        workers: Sequence[str],
        more: dict[str, object],
        own: Mapping[str, dict[str, object]] = MappingProxyType({}),
    ) -> Path:
        """An inventory file of these hosts, as a person writes one (JSON is YAML); `own`: of one host each."""

        def group(names: Sequence[str]) -> dict[str, object]:
            return {"hosts": {f"{self.name}-{name}": {} for name in names}}

        hosts = {
            host.name: {
                "ansible_host": host.address,
                "base_address": host.address,
                **own.get(name, {}),
            }
            for name, host in self.hosts.items()
        }
        common = f"-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={self.folder / 'known_hosts'}"
        content = {
            "groundcrew": {
                "children": {"master": group(masters), "worker": group(workers)},
                "vars": {
                    "ansible_user": "ops",
                    # More than one host would be a cluster by itself.
                    "groundcrew_kubernetes": False,
                    # They are lent the compiled wheels of this machine.
                    "training_environment_compiler": False,
                    "ansible_ssh_private_key_file": str(self.key),
                    "ansible_ssh_common_args": common,
                    **more,
                },
            },
            "ungrouped": {"hosts": {}},
        }
        for name, values in hosts.items():
            for one in ("master", "worker"):
                known = content["groundcrew"]["children"][one]["hosts"]  # type: ignore[index]
                if name in known:
                    known[name] = values
        path = self.folder / "inventory.yml"
        path.write_text(json.dumps(content, indent=1))
        return path


def found_again(folder: Path, image: str, cache: Path) -> Testbed:
    """One that was kept, by the inventory in its folder."""
    known = json.loads((folder / "inventory.yml").read_text())["groundcrew"]["children"]["worker"]["hosts"]
    name = next(iter(known)).rpartition("-")[0]
    hosts = {full.rpartition("-")[2]: Host(full, about["ansible_host"]) for full, about in known.items()}
    subnet = next(iter(hosts.values())).address.rpartition(".")[0]
    return Testbed(name, image, folder, cache, hosts, subnet)


def nameserver() -> str:
    for line in Path("/etc/resolv.conf").read_text().splitlines():
        if line.startswith("nameserver "):
            return line.split()[1]
    return ""


@contextmanager
def testbed(
    name: str,
    image: str,
    cache: Path,
    is_alone: bool = False,
    shares: int = 0,
    shared: str = "",
) -> Iterator[Testbed]:
    """GROUNDCREW_KEEP_HOSTS=1 leaves the hosts and the folder, to look at them after a failure."""
    folder = FOLDERS / name
    bed = Testbed(
        name,
        image,
        folder,
        cache,
        is_alone=is_alone,
        shares=shares,
        shared=folder / shared if shared else None,
    )
    bed.open()
    try:
        yield bed
    finally:
        if os.environ.get("GROUNDCREW_KEEP_HOSTS") != "1":
            bed.close()


def quoted(*words: str) -> str:
    return " ".join(shlex.quote(word) for word in words)
