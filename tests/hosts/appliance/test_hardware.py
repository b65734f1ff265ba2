"""The roles for driver, fabric manager, container toolkit and RDMA against packages with the vendors' names.

The hardware is given as the kernel would show it, the packages come from a repository that is made here: what
runs on the host are the roles, apt, dpkg and systemd as they are. Nothing of it has run on a GPU.
"""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts.appliance.fakes import fake_vendor_packages
from tests.hosts.appliance.fakes.fake_hardware import (
    A100,
    H100,
    MODPROBE,
    V100,
    Card,
    commands,
    gpu,
    infiniband_card,
    nvswitch,
)
from tests.hosts.appliance.installer.playbooks import run_playbook
from tests.hosts.conftest import IMAGES
from tests.hosts.machines import testbed as testbeds
from tests.hosts.machines.host_image import docker, ensure_image
from tests.hosts.machines.testbed import Host, Testbed

HGX = [*[gpu(H100)] * 2, nvswitch(), infiniband_card()]
BUILD = "580.126.20"
PINNED = {
    "nvidia-driver-cuda": f"{BUILD}-1",
    "libcuda1": f"{BUILD}-1",
    "nvidia-fabricmanager": f"{BUILD}-1",
    "doca-ofed": "3.2.2-025000",
    "rdma-core": "2510.0.11-1",
}
HELD = {
    "nvidia-driver-cuda",
    "nvidia-kernel-open-dkms",
    "nvidia-fabricmanager",
    "doca-ofed",
    "nvidia-persistenced",
    "linux-image-amd64",
    "linux-headers-amd64",
    "nvidia-container-toolkit",
}
TAGS = "mofed,nvidia_driver,fabric_manager,nvidia_container_toolkit"


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    with testbeds.testbed("gc-hardware", ensure_image(IMAGES), IMAGES) as opened:
        yield opened


@pytest.fixture(scope="module")
def host(bed: Testbed) -> Host:
    for name, packages in fake_vendor_packages.everything().items():
        fake_vendor_packages.build_repository(bed.folder / "vendor" / name, packages)
    (added,) = bed.add("one")
    docker("cp", str(bed.folder / "vendor"), f"{added.name}:/srv/vendor")
    added.ask("chmod -R a+rX /srv/vendor && apt-get -qq update && apt-get -qq install -y python3-apt")
    added.ask("dpkg -i /srv/vendor/nvidia_driver/linux-image-amd64_99.0-1_amd64.deb")
    added.ask("touch -d 2000-01-01 /boot/initrd.img-99 && mkdir -p /etc/network/interfaces.d")
    for name, text in (
        ("modprobe", MODPROBE),
        ("ifup", "#!/bin/sh\necho ifup $* >> /var/log/stand-in.calls\n"),
    ):
        added.ask(f"cat > /usr/local/sbin/{name} <<'END'\n{text}END\nchmod 755 /usr/local/sbin/{name}")
    return added


def install(bed: Testbed, **more: Any) -> "subprocess.CompletedProcess[str]":
    """site.yml's roles for the hardware, with the vendors' repositories replaced by ours on the host's disk."""
    given = {
        "nvidia_driver_hardware_root": "/hardware",
        "reboot_boot_time_command": "stat -c %Y /run/systemd/system",
        "mofed_stack": "doca_ofed",
        "mofed_address": "10.10.0.11/24",
        "mofed_in_container": False,
        "groundcrew_vendor_mirror": "file:///srv/vendor",
    }
    return run_playbook("site.yml", bed.inventory(["one"], ["one"], {}), "--tags", TAGS, given=given | more)


def changes(done: "subprocess.CompletedProcess[str]") -> int:
    found = re.findall(r"changed=(\d+)", done.stdout)
    assert found, done.stdout[-3000:]
    return sum(map(int, found))


def show(host: Host, cards: list[Card], with_nouveau: bool = False) -> None:
    host.ask(commands(cards, with_nouveau))


def installed(host: Host) -> dict[str, str]:
    lines = host.ask(
        "dpkg-query -W -f '${Package} ${Version} ${Status}\\n' | grep ' installed$'"
    ).splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def test_without_the_hardware_the_roles_say_so_and_do_nothing(bed: Testbed, host: Host) -> None:
    show(host, [])
    before = installed(host)
    done = install(bed)
    assert done.returncode == 0, done.stdout[-3000:]
    assert changes(done) == 0 and installed(host) == before
    for said in ("no NVIDIA GPU", "no NVSwitch", "no InfiniBand or RoCE card"):
        assert said in done.stdout


def test_everything_is_installed_pinned_and_held_with_one_reboot(bed: Testbed, host: Host) -> None:
    show(host, HGX, with_nouveau=True)
    done = install(bed)
    assert done.returncode == 0, done.stdout[-3000:]
    assert PINNED.items() <= installed(host).items()
    assert set(host.ask("apt-mark showhold").splitlines()) >= HELD
    assert host.ask("cat /hardware/starts") == "start", "the host started anew more than once, or never"
    assert host.ask("cat /hardware/sys/module/nvidia/version") == BUILD
    assert not {version for name, version in installed(host).items() if version.startswith(("590.", "610."))}
    calls = host.ask("cat /var/log/stand-in.calls")
    assert "update-initramfs -u -k all" in calls and "nvidia-ctk cdi generate" in calls
    host.ask("test ! -e /hardware/sys/module/nouveau")
    for unit in ("nvidia-persistenced", "nvidia-fabricmanager"):
        host.ask(f"systemctl is-active {unit}")
    assert "nvidia-persistenced --verbose" in calls, "the package's switch keeps nothing initialised"
    assert "Components: contrib" in host.ask("cat /etc/apt/sources.list.d/groundcrew-components.sources")
    interface = host.ask("cat /etc/network/interfaces.d/groundcrew-ibp3s0")
    assert "address 10.10.0.11/24" in interface and "echo datagram" in interface
    assert "ifup --force ibp3s0" in calls
    config = host.ask("cat /etc/nvidia-container-runtime/config.toml")
    assert "accept-nvidia-visible-devices-envvar-when-unprivileged = false" in config


@pytest.mark.long
def test_an_upgrade_of_the_whole_host_leaves_them_alone(host: Host) -> None:
    before = installed(host)
    host.ask("DEBIAN_FRONTEND=noninteractive apt-get -qq update && apt-get -qq -y dist-upgrade")
    assert {name: installed(host)[name] for name in HELD} == {name: before[name] for name in HELD}


def test_a_second_run_changes_nothing_and_starts_nothing_anew(bed: Testbed, host: Host) -> None:
    done = install(bed)
    assert done.returncode == 0 and changes(done) == 0, done.stdout[-3000:]
    assert host.ask("cat /hardware/starts") == "start"


DAMAGE = {
    "Hold driver and kernel as one set": "apt-mark unhold nvidia-driver-cuda",
    "Have nouveau never loaded": "rm /etc/modprobe.d/groundcrew-nouveau.conf",
    "fabric_manager : Start with the machine": "systemctl disable nvidia-fabricmanager",
    "Have the fabric manager run with the files that are here": "systemctl stop nvidia-fabricmanager",
    "Install the toolkit at its pinned version": "dpkg --purge nvidia-container-toolkit",
    "Refuse GPUs that a container asks for": "sed -i s/false/true/ /etc/nvidia-container-runtime/config.toml",
    "Let trainings pin their memory": "rm /etc/security/limits.d/61-groundcrew-rdma.conf",
}
"""By the task that must notice and mend it."""


@pytest.mark.long
def test_what_was_damaged_is_mended(bed: Testbed, host: Host) -> None:
    for command in DAMAGE.values():
        host.ask(command)
    done = install(bed)
    assert done.returncode == 0, done.stdout[-3000:]
    said = {task: part for part in done.stdout.split("TASK [") for task in DAMAGE if task in part}
    assert [task for task in DAMAGE if "changed: [" not in said[task]] == []
    done = install(bed)
    assert done.returncode == 0 and changes(done) == 0, done.stdout[-3000:]


def test_another_branch_of_the_driver_is_refused_by_name(bed: Testbed, host: Host) -> None:
    host.ask("dpkg -i /srv/vendor/nvidia_driver/nvidia-open-570_570.10.00-1_amd64.deb")
    done = install(bed)
    assert done.returncode != 0 and "nvidia-open-570 of another driver branch than 580" in done.stdout
    assert changes(done) == 0
    host.ask("dpkg --purge nvidia-open-570")


def test_a_start_that_loads_no_driver_ends_the_run_and_is_not_repeated(bed: Testbed, host: Host) -> None:
    host.ask("touch /hardware/refused && rm -r /hardware/sys/module/nvidia")
    before = host.ask("cat /hardware/starts").count("start")
    for _ in range(2):
        done = install(bed)
        assert done.returncode != 0, done.stdout[-3000:]
        assert (
            f"has started anew and driver {BUILD} is not loaded" in done.stdout
            and "The kernel" in done.stdout
        )
        assert host.ask("cat /hardware/starts").count("start") == before + 1
    host.ask("rm /hardware/refused && /usr/lib/stand-in/bin/load")
    assert install(bed).returncode == 0


def test_a_driver_that_works_may_stay(bed: Testbed, host: Host) -> None:
    before = installed(host)
    host.ask("echo 570.10.00 > /hardware/sys/module/nvidia/version")
    done = install(bed, nvidia_driver_adopt=True)
    assert done.returncode == 0 and "keeps driver 570.10.00" in done.stdout, done.stdout[-3000:]
    assert installed(host) == before
    host.ask(f"echo {BUILD} > /hardware/sys/module/nvidia/version")


@pytest.mark.long
def test_another_rdma_stack_is_refused_by_name(bed: Testbed, host: Host) -> None:
    done = install(bed, mofed_stack="mlnx_ofed")
    assert done.returncode != 0 and "doca-ofed is installed" in done.stdout
    assert changes(done) == 0


@pytest.mark.long
def test_generations_that_need_different_modules_are_refused(bed: Testbed, host: Host) -> None:
    show(host, [gpu(V100), gpu("0x2901")])
    done = install(bed)
    assert done.returncode != 0 and "Volta needs the proprietary kernel modules and Blackwell" in done.stdout


@pytest.mark.long
def test_the_proprietary_modules_serve_older_gpus(bed: Testbed, host: Host) -> None:
    show(host, [gpu(V100), gpu(A100)])
    host.ask(f"mkdir -p /hardware/sys/module/nvidia && echo {BUILD} > /hardware/sys/module/nvidia/version")
    done = install(bed)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "nvidia-kernel-dkms" in installed(host)


@pytest.mark.long
def test_the_masters_address_is_no_infiniband_address(bed: Testbed, host: Host) -> None:
    show(host, [infiniband_card()])
    done = install(bed, mofed_address=f"{host.address}/24")
    assert done.returncode != 0 and "needs an address of a network of its own" in done.stdout
