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


def unit(text: str) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read_string(text)
    return parsed


def test_the_export_is_mounted_hard_over_the_network() -> None:
    mount = unit(render("storage", "storage.mount", **NFS))
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
