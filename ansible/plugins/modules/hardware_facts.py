#!/usr/bin/python3
"""Reads what NVIDIA's and Mellanox' hardware and drivers look like on this host. Changes nothing."""

from __future__ import annotations

import glob
import json
import os
import platform
import re
import subprocess
import time

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: hardware_facts
short_description: Reads GPUs, NVSwitches, RDMA cards and the state of their drivers from the kernel's files
description: Read-only.
options:
  root:
    description: The folder that holds sys/ and proc/; another than / to try the roles on hardware that is not there.
    type: path
    default: /
  asks_drivers:
    description: Also runs nvidia-smi, asks for the fabric manager, and reads what the agent offers to jobs.
    type: bool
    default: false
  telemetry:
    description: The folder in which the agent writes what it offers, one file per host.
    type: path
    default: /var/lib/groundcrew/telemetry
  interfaces:
    description: The file with the host's interfaces by purpose.
    type: path
    default: /etc/groundcrew/agent/interfaces.json
author: Groundcrew
"""
EXAMPLES = r"""
- hardware_facts:
"""
RDMA_MODULES = ("mlx5_ib", "ib_umad", "ib_ipoib", "rdma_ucm", "nvidia_peermem")
DRIVER_MODULES = ("nvidia", "nvidia_current")
"""Debian's own package names its module nvidia-current."""
RETURN = r"""
hardware:
  description: >
    PCI functions, the loaded NVIDIA driver (or none), whether nouveau is loaded, RDMA ports and their network
    interfaces, loaded modules of RDMA, the kernel, and when systemd has started (seconds since 1970).
  type: dict
  returned: always
drivers:
  description: >
    smi (a line of UUID and driver version for each GPU) or smi_message (what nvidia-smi says instead),
    fabric_manager (the state of its unit) and fabric_version, offered (the agent's GPUs), and fabric_ports (the
    state of the ports behind the interfaces that are there for InfiniBand).
  type: dict
  returned: with asks_drivers
"""
QUERY = ["nvidia-smi", "--query-gpu=uuid,driver_version", "--format=csv,noheader"]
ANSWER_SECONDS = 60
"""A GPU that has fallen off the bus may hold nvidia-smi for ever."""


def read(*parts):
    try:
        with open(os.path.join(*parts)) as file:
            return file.read().strip()
    except OSError:
        return ""


def is_switch_bridge(folder):
    """Whether a card of Mellanox' manages NVSwitches of NVLink 5, which are on no PCI bus: SMDL=SW_MNG in its VPD.

    So does NVIDIA's driver container tell (ubuntu24.04/nvidia-driver, _assert_nvlink5_system).
    """
    try:
        with open(os.path.join(folder, "vpd"), "rb") as file:
            return b"SW_MNG" in file.read(4096)
    except OSError:
        return False


def read_pci(root):
    found = []
    for folder in sorted(glob.glob(os.path.join(root, "sys/bus/pci/devices/*"))):
        vendor = read(folder, "vendor")
        if vendor in ("0x10de", "0x15b3"):
            found.append(
                {
                    "address": os.path.basename(folder),
                    "vendor": vendor,
                    "device": read(folder, "device"),
                    "class": read(folder, "class"),
                    "is_switch_bridge": vendor == "0x15b3" and is_switch_bridge(folder),
                }
            )
    return found


def read_ports(root):
    found = []
    for folder in sorted(glob.glob(os.path.join(root, "sys/class/infiniband/*/ports/*"))):
        parts = folder.split(os.sep)
        found.append(
            {
                "device": parts[-3],
                "port": parts[-1],
                "state": read(folder, "state").partition(": ")[2] or "DOWN",
                "link_layer": read(folder, "link_layer"),
            }
        )
    return found


def read_rdma_interfaces(root):
    """Network interfaces of RDMA cards by PCI address: InfiniBand (the kernel's type 32) or Ethernet (RoCE).

    A card that manages NVSwitches carries no traffic of ours.
    """
    found = []
    for folder in glob.glob(os.path.join(root, "sys/class/infiniband/*")):
        device = os.path.join(folder, "device")
        if is_switch_bridge(device):
            continue
        for path in glob.glob(os.path.join(device, "net/*")):
            name = os.path.basename(path)
            is_infiniband = read(root, "sys/class/net", name, "type") == "32"
            found.append(
                {
                    "name": name,
                    "device": os.path.basename(folder),
                    "address": os.path.basename(os.path.realpath(device)),
                    "kind": "infiniband" if is_infiniband else "ethernet",
                    "has_link": read(root, "sys/class/net", name, "carrier") == "1",
                }
            )
    return sorted(found, key=lambda each: (each["address"], each["name"]))


def read_driver(root):
    versions = [read(root, "sys/module", name, "version") for name in DRIVER_MODULES]
    return next(filter(None, versions), None)


def read_started_at():
    """When systemd began, in seconds since 1970; 0 where that is not known."""
    command = ["systemctl", "show", "--property", "UserspaceTimestampMonotonic", "--value"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
        return time.time() - time.clock_gettime(time.CLOCK_MONOTONIC) + int(shown) / 1e6
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return 0


def run(command):
    """Its exit code and its output; a program that is not there, or does not end, has none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except FileNotFoundError:
        return 127, f"{command[0]} is not installed"
    except subprocess.TimeoutExpired:
        return 124, f"{command[0]} did not answer within {ANSWER_SECONDS} seconds"
    return done.returncode, (done.stdout.strip() or done.stderr.strip())


def read_json(path):
    try:
        found = json.loads(read(path))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def read_fabric_ports(interfaces, rdma_interfaces, ports):
    """The ports behind the interfaces that are named for InfiniBand."""
    devices = {each["device"]: each["name"] for each in rdma_interfaces if each["name"] in interfaces}
    return [{**port, "interface": devices[port["device"]]} for port in ports if port["device"] in devices]


def ask_drivers(telemetry, interfaces, rdma_interfaces, ports):
    code, said = run(QUERY)
    version = run(["nv-fabricmanager", "--version"])
    found = re.search(r"[0-9]+(?:[.][0-9]+)+", version[1]) if version[0] == 0 else None
    names = read_json(interfaces).get("infiniband") or []
    offered = read_json(os.path.join(telemetry, f"{platform.node().partition('.')[0]}.json"))
    return {
        "smi": said.splitlines() if code == 0 else [],
        "smi_message": "" if code == 0 else said,
        "fabric_manager": run(["systemctl", "is-active", "nvidia-fabricmanager.service"])[1],
        "fabric_version": found.group() if found else "",
        "offered": offered.get("gpus") or [],
        "fabric_ports": read_fabric_ports(
            [names] if isinstance(names, str) else names, rdma_interfaces, ports
        ),
    }


def main():
    options = {
        "root": {"type": "path", "default": "/"},
        "asks_drivers": {"type": "bool", "default": False},
        "telemetry": {"type": "path", "default": "/var/lib/groundcrew/telemetry"},
        "interfaces": {"type": "path", "default": "/etc/groundcrew/agent/interfaces.json"},
    }
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    root, ports = module.params["root"], read_ports(module.params["root"])
    rdma_interfaces, more = read_rdma_interfaces(root), {}
    if module.params["asks_drivers"]:
        places = module.params["telemetry"], module.params["interfaces"]
        more["drivers"] = ask_drivers(*places, rdma_interfaces, ports)
    module.exit_json(
        changed=False,
        **more,
        hardware={
            "pci": read_pci(root),
            "nvidia_loaded": read_driver(root),
            "nouveau_loaded": os.path.isdir(os.path.join(root, "sys/module/nouveau")),
            "infiniband_ports": ports,
            "rdma_interfaces": rdma_interfaces,
            "rdma_modules": [
                each for each in RDMA_MODULES if os.path.isdir(os.path.join(root, "sys/module", each))
            ],
            "kernel": read(root, "proc/sys/kernel/osrelease") or platform.release(),
            "started_at": read_started_at(),
        },
    )


if __name__ == "__main__":
    main()
