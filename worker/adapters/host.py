"""Reads this machine's name, boot id, system, processors, memory, disk and network interfaces."""

import json
import os
import platform
import socket
from pathlib import Path
from typing import Any

import psutil

from cluster.services.storage.disk_space import read_disk_usage

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
INFINIBAND = Path("/sys/class/infiniband")
NETWORK = Path("/sys/class/net")
INTERFACE_PURPOSES = Path("/etc/groundcrew/agent/interfaces.json")
"""The file that the role `agent` writes."""


def read_host_name() -> str:
    return socket.gethostname().split(".")[0][:64] or "localhost"


def read_boot_id() -> str:
    return BOOT_ID.read_text().strip()


def read_facts(storage: Path) -> dict[str, Any]:
    """The facts of this machine. Sizes are in bytes; the disk is the one that contains `storage`."""
    disk = read_disk_usage(storage if storage.exists() else Path("/"))
    return {
        "system": read_system(),
        "kernel": platform.release(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "disk_bytes": disk.total,
        "disk_free_bytes": disk.free,
        "interfaces": read_interfaces(),
    }


def read_system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"


def read_interfaces() -> list[dict[str, Any]]:
    """The interfaces with an address, without loopback and ends of containers. Speeds are in Mbit/s, 0 if unknown."""
    states = psutil.net_if_stats()
    found = []
    for name, addresses in sorted(psutil.net_if_addrs().items()):
        own = [
            each.address.split("%")[0]
            for each in addresses
            if each.family in (socket.AF_INET, socket.AF_INET6)
        ]
        state = states.get(name)
        if name != "lo" and own and not is_container_end(name):
            found.append(
                {
                    "name": name,
                    "addresses": own,
                    "speed_mbps": state.speed if state else 0,
                    "is_up": bool(state and state.isup),
                    "kind": interface_kind(name),
                }
            )
    return found


def read_interface_purposes(path: Path = INTERFACE_PURPOSES) -> dict[str, list[str]]:
    """The interfaces by purpose that the installer wrote; empty if it wrote none that can be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_container_end(name: str, network: Path = NETWORK) -> bool:
    """Whether the interface is a port of a bridge without a card, as each container or pod has one."""
    return (network / name / "brport").exists() and not (network / name / "device").exists()


def interface_kind(name: str) -> str:
    """`infiniband` if the kernel's ARPHRD type is 32, else `ethernet`."""
    try:
        return "infiniband" if (NETWORK / name / "type").read_text().strip() == "32" else "ethernet"
    except OSError:
        return "ethernet"


def read_fabric(devices: Path = INFINIBAND) -> str | None:
    """The InfiniBand fabric by its subnet prefix, the upper half of each address. None if there is none.

    Separate fabrics that all have the standard's default prefix look like one, so placement only prefers one fabric.
    """
    for port in sorted(devices.glob("*/ports/*")):
        try:
            is_infiniband = (port / "link_layer").read_text().strip() == "InfiniBand"
            is_active = (port / "state").read_text().strip().endswith("ACTIVE")
            prefix = ":".join((port / "gids" / "0").read_text().strip().split(":")[:4])
        except OSError:
            continue
        if is_infiniband and is_active:
            return f"ib-{prefix}"
    return None


def read_load() -> dict[str, Any]:
    memory = psutil.virtual_memory()
    return {
        "cpu_percent": psutil.cpu_percent(interval=None),
        "memory_used_bytes": memory.total - memory.available,
    }
