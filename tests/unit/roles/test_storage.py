"""The NFS client's files, as systemd reads them."""

import configparser
from typing import Any

import pytest

from tests.unit.roles.rendering import render, value_of

NFS: dict[str, Any] = {
    "storage_kind": "nfs",
    "storage_nfs_server": "10.0.0.5",
    "storage_nfs_export": "/export/groundcrew",
}


OTHERS: dict[str, Any] = {
    "inventory_hostname": "m",
    "groups": {"groundcrew": ["m", "w1", "w2", "w3"], "master": ["m"], "worker": ["w1", "w2", "w3"]},
    "hostvars": {
        "m": {"base_address": "10.0.0.10", "ansible_facts": {"default_ipv4": {"address": "192.0.2.1"}}},
        "w1": {"base_address": "", "ansible_facts": {"default_ipv4": {"address": "10.0.0.11"}}},
        "w2": {"base_address": "10.0.0.12"},
        "w3": {},
    },
}


def unit(text: str) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read_string(text)
    return parsed


def test_the_export_is_mounted_hard_over_the_network() -> None:
    mount = unit(render("storage", "storage.mount", **OTHERS | NFS))
    assert dict(mount["Mount"]) == {
        "What": "10.0.0.5:/export/groundcrew",
        "Where": "/var/lib/groundcrew/storage",
        "Type": "nfs4",
        "Options": "nfsvers=4.2,hard,noatime,nodev,nosuid,_netdev",
        "TimeoutSec": "90",
    }
    assert mount["Unit"]["After"] == mount["Unit"]["Wants"] == "network-online.target"
    assert mount["Install"]["WantedBy"] == "remote-fs.target"


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ("/var/lib/groundcrew", "var-lib-groundcrew-storage.mount"),
        ("/srv/gpu-team", r"srv-gpu\x2dteam-storage.mount"),
    ],
)
def test_the_unit_carries_the_name_that_systemd_gives_the_folder(state: str, name: str) -> None:
    assert value_of("storage", "storage_unit", groundcrew_state=state) == name


@pytest.mark.parametrize(
    ("given", "kind", "is_served", "is_mounted"),
    [
        ({"groups": {name: ["m"] for name in ("groundcrew", "master", "worker")}}, "local", False, False),
        ({}, "nfs", True, False),
        ({"inventory_hostname": "w1"}, "nfs", False, True),
        ({"groundcrew_kubernetes": False}, "local", False, False),
        (NFS, "nfs", False, True),
        ({"storage_kind": "mounted"}, "mounted", False, True),
    ],
)
def test_jobs_on_several_hosts_find_the_masters_folder_by_nfs_unless_the_inventory_says_otherwise(
    given: dict[str, Any], kind: str, is_served: bool, is_mounted: bool
) -> None:
    values = [
        value_of("storage", f"storage_{name}", **OTHERS | given)
        for name in ("kind", "is_served", "is_mounted")
    ]
    assert values == [kind, is_served, is_mounted]


def test_the_master_exports_to_the_other_hosts_alone() -> None:
    exports = render("storage", "groundcrew.exports", **OTHERS)
    lines = [line for line in exports.splitlines() if not line.startswith("#")]
    assert lines == [
        f"/var/lib/groundcrew/storage {client}(rw,sync,no_root_squash,no_subtree_check)"
        for client in ("10.0.0.11", "10.0.0.12")
    ], "a host without a known address gets nothing"


def test_the_other_hosts_mount_what_the_master_exports() -> None:
    mount = unit(render("storage", "storage.mount", **OTHERS | {"inventory_hostname": "w1"}))
    assert mount["Mount"]["What"] == "10.0.0.10:/var/lib/groundcrew/storage"
