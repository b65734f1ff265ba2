"""Roles adapt to each distribution, by its facts alone: no host of Ubuntu has been tried."""

import base64
from typing import Any

import pytest
import yaml

from tests.unit.roles.rendering import render, value_of

FACTS = {name: {"distribution": name} for name in ("Debian", "Ubuntu")}
KERNELS = {"Debian": "6.1.0-50-amd64", "Ubuntu": "6.8.0-45-generic"}


def driver(distribution: str, chosen: str, name: str, kernel: str = "", **given: Any) -> Any:
    seen = {"hardware": {"kernel": kernel or KERNELS[distribution], "pci": [], "nvidia_loaded": None}}
    known: dict[str, Any] = {"nvidia_driver_chosen": chosen, "nvidia_driver_seen": seen} | given
    return value_of("nvidia_driver", name, ansible_facts=FACTS[distribution], **known)


OPEN_UBUNTU = [
    "nvidia-headless-no-dkms-580-server-open",
    "linux-modules-nvidia-580-server-open-{}",
    "nvidia-utils-580-server",
    "nvidia-compute-utils-580-server",
]


@pytest.mark.parametrize(
    ("distribution", "chosen", "packages"),
    [
        ("Debian", "open", ["nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-persistenced"]),
        ("Debian", "proprietary", ["nvidia-driver-cuda", "nvidia-kernel-dkms", "nvidia-persistenced"]),
        ("Ubuntu", "open", [name.format("generic") for name in OPEN_UBUNTU]),
        ("Ubuntu", "proprietary", [name.format("generic").replace("-open", "") for name in OPEN_UBUNTU]),
    ],
)
def test_each_distribution_has_its_own_names_of_the_driver(
    distribution: str, chosen: str, packages: list[str]
) -> None:
    assert driver(distribution, chosen, "nvidia_driver_packages") == packages


@pytest.mark.parametrize(
    ("distribution", "kernel", "flavour"),
    [
        ("Debian", "6.1.0-50-amd64", "amd64"),
        ("Debian", "6.1.0-50-cloud-amd64", "cloud-amd64"),
        ("Ubuntu", "6.8.0-45-generic", "generic"),
        ("Ubuntu", "6.14.0-33-generic", "generic-hwe-24.04"),
        ("Ubuntu", "6.8.0-1021-nvidia", "nvidia"),
    ],
)
def test_the_running_kernels_flavour_is_held_with_the_modules_that_fit_it(
    distribution: str, kernel: str, flavour: str
) -> None:
    held = driver(distribution, "open", "nvidia_driver_held", kernel)
    assert held[-2:] == [f"linux-image-{flavour}", f"linux-headers-{flavour}"]
    if distribution == "Ubuntu":
        assert f"linux-modules-nvidia-580-server-open-{flavour}" in held


def test_the_branch_is_pinned_and_one_build_where_the_inventory_names_it() -> None:
    assert driver("Debian", "open", "nvidia_driver_builds") == "580.*"
    one = driver("Debian", "open", "nvidia_driver_builds", nvidia_driver_version="580.105.08")
    assert one == "580.105.08-*"


def test_persistence_is_on_whatever_the_packages_unit_says() -> None:
    own = "/usr/bin/nvidia-persistenced --user nvidia-persistenced"
    of_ubuntu = f"[Service]\nType=forking\nExecStart={own} --no-persistence-mode --verbose\n"
    read = {"content": base64.b64encode(of_ubuntu.encode()).decode()}
    lines = render("nvidia_driver", "persistenced.conf", nvidia_driver_persistenced=read).splitlines()
    assert lines[-2:] == ["ExecStart=", f"ExecStart={own} --verbose"]


def test_ubuntu_takes_its_own_signed_driver_and_debian_nvidias_repository() -> None:
    assert driver("Ubuntu", "open", "nvidia_driver_sources")["repository"] == {}
    assert "debian12" in driver("Debian", "open", "nvidia_driver_sources")["repository"]["uri"]


@pytest.mark.parametrize("stack", ["doca_ofed", "mlnx_ofed"])
@pytest.mark.parametrize(("distribution", "folder"), [("Debian", "/debian12"), ("Ubuntu", "/ubuntu24.04/")])
def test_kernel_modules_for_rdma_come_from_the_distributions_own_folder(
    stack: str, distribution: str, folder: str
) -> None:
    found = value_of("mofed", "mofed_repository", ansible_facts=FACTS[distribution], mofed_stack=stack)
    assert folder in found["uri"] and found["key"]
    assert value_of("mofed", "mofed_repository", ansible_facts=FACTS[distribution], mofed_stack="inbox") == {}


RDMA = [
    {"name": "ibp65s0", "device": "mlx5_0", "kind": "infiniband"},
    {"name": "ens1f0np0", "device": "mlx5_1", "kind": "ethernet"},
]


def rdma(**given: Any) -> dict[str, Any]:
    return {"mofed_seen": {"hardware": {"rdma_interfaces": RDMA, "rdma_modules": []}}} | given


@pytest.mark.parametrize(
    ("inventory", "wanted"),
    [
        ({"mofed_address": "10.10.0.11/24"}, {"ibp65s0": "10.10.0.11/24"}),
        (
            {"mofed_address": "10.10.0.11/24", "mofed_interface": "ens1f0np0"},
            {"ens1f0np0": "10.10.0.11/24"},
        ),
        (
            {"mofed_addresses": {"ibp65s0": "10.10.0.11/24", "ens1f0np0": "10.20.0.11/24"}},
            {"ibp65s0": "10.10.0.11/24", "ens1f0np0": "10.20.0.11/24"},
        ),
        ({}, {}),
    ],
)
def test_infiniband_and_roce_have_their_addresses_by_one_name(
    inventory: dict[str, Any], wanted: dict[str, str]
) -> None:
    assert value_of("mofed", "mofed_wanted", **rdma(**inventory)) == wanted
    assert value_of("mofed", "mofed_wants_addresses", **rdma(**inventory)) is bool(wanted)


def test_infiniband_goes_by_datagrams_and_roce_as_its_interface_is() -> None:
    both = {"ibp65s0": "10.10.0.11/24", "ens1f0np0": "10.20.0.11/24"}
    written = yaml.safe_load(render("mofed", "netplan", **rdma(mofed_addresses=both)))["network"]["ethernets"]
    assert written["ibp65s0"] == {"addresses": ["10.10.0.11/24"], "infiniband-mode": "datagram", "mtu": 2044}
    assert written["ens1f0np0"] == {"addresses": ["10.20.0.11/24"]}
    for name, address in both.items():
        lines = render("mofed", "interface", **rdma(item={"key": name, "value": address})).splitlines()
        assert f"iface {name} inet static" in lines and f"    address {address}" in lines
        assert any("datagram" in line for line in lines) is (name == "ibp65s0")
        assert ("    mtu 2044" in lines) is (name == "ibp65s0")


def test_a_packet_may_be_larger_where_the_fabric_carries_it() -> None:
    given = rdma(mofed_mtu=4092, item={"key": "ibp65s0", "value": "10.10.0.11/24"})
    assert "    mtu 4092" in render("mofed", "interface", **given).splitlines()


def test_stacks_that_build_modules_have_the_headers_of_the_running_kernel() -> None:
    seen = {"hardware": {"kernel": "6.1.0-50-amd64"}}
    names = value_of("mofed", "mofed_to_build_with", mofed_stack="doca_ofed", mofed_seen=seen)
    assert names == ["dkms", "linux-headers-6.1.0-50-amd64"]
    assert value_of("mofed", "mofed_to_build_with", mofed_seen=seen) == []


def test_containers_may_lock_the_memory_that_rdma_registers() -> None:
    assert "LimitMEMLOCK=infinity" in render("container_engine", "containerd.conf").splitlines()
