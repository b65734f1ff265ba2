"""Preflight names the faults of wrong hosts, by facts alone."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[5]
GIB = 1024**3


def load_filter() -> ModuleType:
    """By its path: ansible/ is no package, and never may be one beside the library of that name."""
    path = ROOT / "ansible" / "plugins" / "filter" / "preflight.py"
    spec = importlib.util.spec_from_file_location("preflight_filter", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PREFLIGHT = load_filter()
SOURCES = yaml.safe_load((ROOT / "inventory/group_vars/all/sources.yml").read_text())["groundcrew_sources"]
GPU = {
    "address": "0000:41:00.0",
    "vendor": "0x10de",
    "device": "0x2330",
    "class": "0x030200",
    "driver": "nvidia",
}
NIC = {
    "address": "0000:81:00.0",
    "vendor": "0x15b3",
    "device": "0x1021",
    "class": "0x020700",
    "driver": "mlx5_core",
}
GOOD: dict[str, Any] = {
    "system": {"id": "debian", "version": "12", "name": "Debian GNU/Linux 12"},
    "architecture": "x86_64",
    "python": "3.11",
    "kernel": "6.1.0",
    "is_systemd": True,
    "is_root": True,
    "cpus": 64,
    "memory_bytes": 512 * GIB,
    "swap_bytes": 0,
    "disk": {"path": "/var/lib", "bytes": 1800 * GIB, "free_bytes": 1500 * GIB},
    "storage": {"path": "/var/lib/groundcrew/storage", "kind": "", "identity": ""},
    "cpu_flags": ["avx", "avx2", "sse4_2"],
    "packages": {},
    "has_run_installer": False,
    "nvidia_loaded": None,
    "identity": {"hostname": "m", "machine_id": "1f", "product_uuid": "U1"},
    "firewalls": [],
    "rdma_ports": [],
    "links": ["eth0", "lo"],
    "pci": [],
    "secure_boot": False,
    "is_key_enrolled": False,
    "interfaces": [{"name": "eth0", "address": "10.0.0.10", "speed_mbps": 25_000, "is_infiniband": False}],
    "listeners": {},
    "resolves": {"deb.debian.org": True},
    "peers": {"10.0.0.11": {"answers": True, "from": "10.0.0.10"}},
    "time": 1000.0,
    "time_zone": "Asia/Seoul",
}
OPTIONS: dict[str, Any] = {
    "systems": SOURCES["systems"],
    "python": SOURCES["python"],
    "is_master": True,
    "our_programs": ["nginx"],
    "address": "10.0.0.10",
    "portal_port": 443,
    "masters": 1,
    "others": {"w1": {"hostname": "w1", "machine_id": "2f", "product_uuid": "U2"}},
    "ports_between": ["22 (ssh)", "443 (portal, of the master)"],
    "named_interfaces": {},
    "kernel_flavour": "amd64",
    "foreign_driver": [],
    "foreign_rdma": [],
    "flavour_problem": "",
    "old_generations": [],
    "adopts_driver": False,
    "rdma_addresses": [],
    "master_address": "10.0.0.10",
    "master_time": 1000.0,
    "master_time_zone": "Asia/Seoul",
    "least_memory_bytes": 3 * GIB,
    "least_disk_bytes": 8 * GIB,
    "good_disk_bytes": 500 * GIB,
    "most_clock_skew": 5,
    "hosts": 3,
    "jobs_on": 1,
    "has_kubernetes": True,
    "containerd": "1.7.28",
    "storage_kind": "local",
    "master_storage": "nfs4 0 512 7",
}
IDENTITY = GOOD["identity"]
OTHER_HOST = {"hostname": "w1", "machine_id": "2f", "product_uuid": ""}
INTERFACE = GOOD["interfaces"][0]
NOBLE = {"id": "ubuntu", "version": "24.04", "name": "Ubuntu 24.04"}
JAMMY = {"id": "ubuntu", "version": "22.04", "name": "Ubuntu 22.04.5 LTS"}


def verdict(facts: dict[str, Any], options: dict[str, Any]) -> list[tuple[str, str]]:
    found = PREFLIGHT.preflight_verdict(GOOD | facts, OPTIONS | options)
    assert all(finding["sentence"] and finding["remedy"] for finding in found)
    return [(finding["code"], finding["level"]) for finding in found]


def test_nothing_is_wrong_with_a_good_host() -> None:
    assert verdict({}, {}) == []


@pytest.mark.parametrize(
    ("facts", "options", "expected"),
    [
        ({"system": JAMMY, "python": "3.10"}, {}, ("system", "stop")),
        (
            {"system": {"id": "ubuntu", "version": "24.04", "name": "Ubuntu"}, "python": "3.13"},
            {},
            ("python", "stop"),
        ),
        ({"architecture": "aarch64"}, {}, ("architecture", "stop")),
        ({"is_systemd": False}, {}, ("systemd", "stop")),
        ({"is_root": False}, {}, ("sudo", "stop")),
        ({"memory_bytes": 2 * GIB}, {}, ("memory", "stop")),
        ({"disk": {"path": "/", "bytes": 20 * GIB, "free_bytes": 4 * GIB}}, {}, ("disk_full", "stop")),
        ({"disk": {"path": "/", "bytes": 200 * GIB, "free_bytes": 99 * GIB}}, {}, ("disk_small", "warn")),
        ({"swap_bytes": GIB}, {"has_kubernetes": False}, ("swap", "warn")),
        ({"swap_bytes": GIB}, {}, ("swap", "stop")),
        ({"cpus": 1}, {}, ("cpus", "stop")),
        ({"cpu_flags": ["sse4_2"]}, {}, ("cpu_old", "warn")),
        ({}, {"masters": 2}, ("masters", "stop")),
        ({"identity": IDENTITY | {"hostname": "w1"}}, {}, ("same_hostname", "stop")),
        ({"identity": IDENTITY | {"machine_id": "2f"}}, {}, ("same_machine_id", "stop")),
        ({"identity": IDENTITY | {"product_uuid": "U2"}}, {}, ("same_product_uuid", "stop")),
        ({"packages": {"docker-ce": "5:28.0"}}, {}, ("docker", "stop")),
        ({"firewalls": ["ufw"]}, {}, ("firewall", "warn")),
        ({}, {"named_interfaces": {"training": ["ens9"]}}, ("interface", "stop")),
        ({"interfaces": [INTERFACE | {"has_link": False}]}, {}, ("link_down", "warn")),
        ({"listeners": {"6443": "k3s-server"}}, {"is_master": False}, ("port", "stop")),
        ({"pci": [GPU], "has_run_installer": True}, {}, ("driver_run", "stop")),
        ({"pci": [GPU]}, {"foreign_driver": ["nvidia-driver-580-open"]}, ("driver_foreign", "stop")),
        ({"pci": [GPU]}, {"kernel_flavour": ""}, ("driver_kernel", "stop")),
        ({"pci": [GPU]}, {"flavour_problem": "Volta needs the proprietary"}, ("gpus", "stop")),
        ({"pci": [GPU]}, {"old_generations": ["Volta"]}, ("gpus_old", "stop")),
        ({"pci": [GPU]}, {"is_master": False}, ("gpus_idle", "warn")),
        ({}, {"rdma_addresses": ["10.0.0.10"]}, ("rdma_address", "stop")),
        ({}, {"foreign_rdma": ["mlnx-ofed-all"]}, ("rdma_foreign", "stop")),
        (
            {"rdma_ports": [{"name": "mlx5_0/1", "state": "INIT", "link_layer": "InfiniBand"}]},
            {"rdma_addresses": ["10.9.0.10"]},
            ("rdma_port", "warn"),
        ),
        ({"resolves": {"deb.debian.org": False}}, {}, ("dns", "stop")),
        ({"listeners": {"443": "apache2"}}, {}, ("port", "stop")),
        ({"peers": {"10.0.0.11": {"answers": False, "problem": "timed out"}}}, {}, ("unreachable", "stop")),
        (
            {"peers": {"10.0.0.11": {"answers": True, "from": "192.168.9.2"}}},
            {"address": "203.0.113.7"},
            ("translation", "stop"),
        ),
        ({"interfaces": [GOOD["interfaces"][0] | {"speed_mbps": 1000}]}, {}, ("slow_network", "warn")),
        ({"time": 1060.0}, {}, ("clock", "stop")),
        ({"time_zone": "UTC"}, {}, ("time_zone", "warn")),
        ({"pci": [GPU | {"driver": "nouveau"}]}, {}, ("driver", "warn")),
        ({"pci": [GPU], "secure_boot": True}, {}, ("secure_boot", "stop")),
        ({"pci": [NIC]}, {}, ("rdma_off", "warn")),
    ],
)
def test_what_is_wrong_is_named_alone(
    facts: dict[str, Any], options: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert verdict(facts, options) == [expected]


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ({"listeners": {"443": "nginx"}}, {}),
        ({"listeners": {"6443": "kube-apiserver"}}, {"our_programs": ["nginx", "kube-apiserver"]}),
        ({"pci": [GPU], "secure_boot": True, "is_key_enrolled": True}, {}),
        ({"pci": [GPU], "secure_boot": True, "system": NOBLE, "python": "3.12"}, {}),
        (
            {"pci": [GPU], "nvidia_loaded": "570.10", "has_run_installer": True},
            {"adopts_driver": True, "foreign_driver": ["nvidia-open-570"]},
        ),
        ({"firewalls": ["ufw"]}, {"hosts": 1, "others": {}}),
        ({"identity": IDENTITY | {"product_uuid": ""}}, {"others": {"w1": {**IDENTITY, **OTHER_HOST}}}),
        ({"has_run_installer": True}, {"foreign_driver": ["nvidia-open-570"]}),
        ({"resolves": {"deb.debian.org": False}}, {"has_bundle": True}),
        ({"time": 1004.0}, {}),
        ({"pci": [GPU]}, {}),
        ({"system": {"id": "ubuntu", "version": "24.04", "name": "Ubuntu"}, "python": "3.12"}, {}),
    ],
)
def test_what_is_right_is_not_named(facts: dict[str, Any], options: dict[str, Any]) -> None:
    assert verdict(facts, options) == []


def test_an_older_ubuntu_hears_that_its_python_is_the_reason() -> None:
    (finding,) = PREFLIGHT.preflight_verdict(GOOD | {"system": JAMMY, "python": "3.10"}, OPTIONS)
    assert "Ubuntu 22.04.5 LTS with Python 3.10" in finding["sentence"]


def test_what_stops_comes_before_what_is_only_said() -> None:
    assert [level for _, level in verdict({"time_zone": "UTC", "is_root": False}, {})] == ["stop", "warn"]


def test_the_report_has_a_remedy_under_each_line() -> None:
    lines = PREFLIGHT.preflight_report(
        PREFLIGHT.preflight_verdict(GOOD | {"swap_bytes": GIB}, OPTIONS | {"has_kubernetes": False}), "w1"
    ).splitlines()
    assert lines[0].startswith("w1: note [swap] 1.0 GiB of swap")
    assert lines[1].startswith("    remedy: Turn it off")


MOUNTED = {"path": "/var/lib/groundcrew/storage", "kind": "nfs4", "identity": "nfs4 0 512 7"}
OTHER = MOUNTED | {"identity": "nfs4 0 512 9"}


@pytest.mark.parametrize(
    ("storage", "options", "expected"),
    [
        ({}, {"jobs_on": 3}, [("storage_local", "stop")]),
        ({}, {"jobs_on": 3, "storage_kind": "nfs"}, []),
        ({}, {"jobs_on": 3, "storage_kind": "mounted"}, [("storage_not_mounted", "stop")]),
        (OTHER, {"jobs_on": 3, "storage_kind": "mounted"}, [("storage_differs", "stop")]),
        (MOUNTED, {"jobs_on": 3, "storage_kind": "mounted"}, []),
        (
            MOUNTED,
            {"jobs_on": 3, "storage_kind": "nfs", "has_kubernetes": False},
            [("no_kubernetes", "stop")],
        ),
    ],
)
def test_jobs_on_several_hosts_need_one_folder_that_all_of_them_have(
    storage: dict[str, str], options: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert verdict({"storage": GOOD["storage"] | storage}, options) == expected


@pytest.mark.parametrize(
    ("offered", "packages", "pci", "has_kubernetes", "is_refused"),
    [
        ("1.6.20", {}, [GPU], True, True),
        ("1.7.28", {}, [GPU], True, False),
        ("1.6.20", {"containerd": "1.7.24~ds1-6"}, [GPU], True, False),
        ("1.6.20", {"containerd": "2.1.4"}, [GPU], True, False),
        ("1.7.28", {"containerd": "1.6.20~ds1-1+deb12u1"}, [GPU], True, True),
        ("1.6.20", {}, [NIC], True, False),
        ("1.6.20", {}, [GPU], False, False),
    ],
)
def test_gpus_of_a_cluster_need_a_containerd_that_knows_cdi(
    offered: str, packages: dict[str, str], pci: list[dict[str, str]], has_kubernetes: bool, is_refused: bool
) -> None:
    facts = {"packages": packages, "pci": pci}
    found = verdict(facts, {"containerd": offered, "has_kubernetes": has_kubernetes})
    assert (("containerd_old", "stop") in found or ("stop", "containerd_old") in found) is is_refused
