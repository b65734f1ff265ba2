"""Roles adapt to each distribution, by its facts alone: no host of Ubuntu has been tried."""

from typing import Any

import pytest
import yaml

from tests.unit.roles.rendering import render, value_of

FACTS = {name: {"distribution": name} for name in ("Debian", "Ubuntu")}


def driver(distribution: str, chosen: str, name: str) -> Any:
    return value_of("nvidia_driver", name, ansible_facts=FACTS[distribution], nvidia_driver_chosen=chosen)


@pytest.mark.parametrize(
    ("distribution", "chosen", "packages"),
    [
        ("Debian", "open", ["nvidia-open-580", "nvidia-persistenced"]),
        ("Debian", "proprietary", ["cuda-drivers-580", "nvidia-persistenced"]),
        (
            "Ubuntu",
            "open",
            [
                "nvidia-headless-no-dkms-580-server-open",
                "nvidia-utils-580-server",
                "nvidia-compute-utils-580-server",
            ],
        ),
        (
            "Ubuntu",
            "proprietary",
            [
                "nvidia-headless-no-dkms-580-server",
                "nvidia-utils-580-server",
                "nvidia-compute-utils-580-server",
            ],
        ),
    ],
)
def test_each_distribution_has_its_own_names_of_the_driver(
    distribution: str, chosen: str, packages: list[str]
) -> None:
    assert driver(distribution, chosen, "nvidia_driver_packages") == packages


@pytest.mark.parametrize(
    ("distribution", "chosen", "kernel"),
    [
        ("Debian", "open", ["linux-image-amd64", "linux-headers-amd64"]),
        (
            "Ubuntu",
            "open",
            [
                "linux-image-generic",
                "linux-headers-generic",
                "linux-modules-nvidia-580-server-open-generic",
            ],
        ),
        (
            "Ubuntu",
            "proprietary",
            ["linux-image-generic", "linux-headers-generic", "linux-modules-nvidia-580-server-generic"],
        ),
    ],
)
def test_the_kernel_is_held_with_the_modules_that_fit_it(
    distribution: str, chosen: str, kernel: list[str]
) -> None:
    held = driver(distribution, chosen, "nvidia_driver_held")
    assert held == driver(distribution, chosen, "nvidia_driver_packages") + kernel


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


def test_the_infiniband_address_is_written_as_each_distribution_reads_it() -> None:
    given = {"mofed_chosen": "ib0", "mofed_address": "10.10.0.11/24"}
    netplan = yaml.safe_load(render("mofed", "netplan", **given))["network"]["ethernets"]["ib0"]
    assert netplan == {"addresses": ["10.10.0.11/24"], "infiniband-mode": "connected", "mtu": 65520}
    lines = [line.strip() for line in render("mofed", "interface", **given).splitlines()]
    assert "iface ib0 inet static" in lines and "address 10.10.0.11/24" in lines
