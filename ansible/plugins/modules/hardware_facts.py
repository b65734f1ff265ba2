#!/usr/bin/python3
"""Reads what NVIDIA's and Mellanox' hardware and drivers look like on this host. Changes nothing."""

from __future__ import annotations

import glob
import os
import platform

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
author: Groundcrew
"""
EXAMPLES = r"""
- hardware_facts:
"""
RETURN = r"""
hardware:
  description: PCI functions, the loaded NVIDIA driver (or none), whether nouveau is loaded, InfiniBand ports.
  type: dict
  returned: always
"""


def read(*parts):
    try:
        with open(os.path.join(*parts)) as file:
            return file.read().strip()
    except OSError:
        return ""


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


def read_infiniband_interfaces(root):
    """Network interfaces of the kernel's type 32, IP over InfiniBand."""
    folders = sorted(glob.glob(os.path.join(root, "sys/class/net/*")))
    return [os.path.basename(folder) for folder in folders if read(folder, "type") == "32"]


def main():
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/"}}, supports_check_mode=True)
    root = module.params["root"]
    module.exit_json(
        changed=False,
        hardware={
            "pci": read_pci(root),
            "nvidia_loaded": read(root, "sys/module/nvidia/version") or None,
            "nouveau_loaded": os.path.isdir(os.path.join(root, "sys/module/nouveau")),
            "infiniband_ports": read_ports(root),
            "infiniband_interfaces": read_infiniband_interfaces(root),
            "kernel": platform.release(),
        },
    )


if __name__ == "__main__":
    main()
