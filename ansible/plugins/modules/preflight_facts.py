#!/usr/bin/python3
"""Collects what preflight judges: one document of plain facts about this host. Changes nothing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: preflight_facts
short_description: Collects the facts about a host that preflight judges
description: Read-only. Sizes in bytes, times in seconds since 1970 (UTC).
options:
  data_path:
    description: The folder whose disk will hold datasets and results; its nearest existing parent counts.
    type: path
    required: true
  storage_path:
    description: The folder that all hosts share where jobs run on all of them.
    type: path
    required: true
  ports:
    description: TCP ports that the master will need.
    type: list
    elements: int
    default: []
  package_names:
    description: Beginnings of names; installed packages with one of them are listed with their versions.
    type: list
    elements: str
    default: []
  peers:
    description: Addresses of the other hosts, which this one must reach by ssh's port.
    type: list
    elements: str
    default: []
author: Groundcrew
"""
EXAMPLES = r"""
- preflight_facts:
    data_path: /var/lib/groundcrew
    storage_path: /var/lib/groundcrew/storage
    ports: [443]
"""
RETURN = r"""
document:
  description: The facts.
  type: dict
  returned: always
"""


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def run(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    return done.returncode, done.stdout


def read_system():
    lines = dict(line.split("=", 1) for line in read("/etc/os-release").splitlines() if "=" in line)
    plain = {key: value.strip("\"'") for key, value in lines.items()}
    return {
        "id": plain.get("ID", ""),
        "version": plain.get("VERSION_ID", ""),
        "name": plain.get("PRETTY_NAME", ""),
    }


def read_memory():
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", read("/proc/meminfo"), re.M))
    return int(found.get("MemTotal", 0)) * 1024, int(found.get("SwapTotal", 0)) * 1024


def read_disk(path):
    folder = next(each for each in (Path(path), *Path(path).parents) if each.exists())
    usage = shutil.disk_usage(folder)
    return {"path": str(folder), "bytes": usage.total, "free_bytes": usage.free}


def read_storage(path):
    """What is mounted there, and by what two hosts know that it is the same; empty where nothing is."""
    mounts = [line.split() for line in read("/proc/self/mountinfo").splitlines()]
    here = [words for words in mounts if words[4] == os.path.realpath(path)]
    if not here:
        return {"path": path, "kind": "", "identity": ""}
    kind = here[-1][here[-1].index("-") + 1]
    room, number = os.statvfs(path), os.stat(path).st_ino
    # Over NFS the server numbers the folder and its room is everybody's; a disk of one machine has a number of its own.
    return {
        "path": path,
        "kind": kind,
        "identity": f"{kind} {room.f_fsid} {room.f_blocks * room.f_frsize} {number}",
    }


def read_pci():
    """Vendor, device and class of NVIDIA's and Mellanox' functions, and the driver that holds each."""
    found = []
    for folder in sorted(Path("/sys/bus/pci/devices").glob("*")):
        vendor = read(folder / "vendor").strip()
        if vendor in ("0x10de", "0x15b3"):
            driver = folder / "driver"
            found.append(
                {
                    "address": folder.name,
                    "vendor": vendor,
                    "device": read(folder / "device").strip(),
                    "class": read(folder / "class").strip(),
                    "driver": driver.resolve().name if driver.exists() else None,
                }
            )
    return found


def read_hardware_driver():
    """The version of the loaded NVIDIA driver, by the names that NVIDIA and Debian give its module."""
    versions = [read(f"/sys/module/{name}/version").strip() for name in ("nvidia", "nvidia_current")]
    return next(filter(None, versions), None)


def read_packages(beginnings):
    """Versions by name of the installed packages whose names begin so."""
    _, shown = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n")
    lines = [line.split() for line in shown.splitlines() if line.endswith(" installed")]
    return (
        {words[0]: words[1] for words in lines if words[0].startswith(tuple(beginnings))}
        if beginnings
        else {}
    )


def as_root(*words):
    return [*([] if os.geteuid() == 0 else ["sudo", "-n"]), *words]


def read_identity():
    """What must not be the same on two hosts. A container shows its machine's firmware, which says nothing of it."""
    in_container = Path("/run/systemd/container").exists() or Path("/.dockerenv").exists()
    uuid = "" if in_container else run(*as_root("cat", "/sys/class/dmi/id/product_uuid"))[1].strip()
    return {
        "hostname": socket.gethostname(),
        "machine_id": read("/etc/machine-id").strip(),
        "product_uuid": uuid,
    }


def read_firewalls():
    """Firewalls that somebody has turned on, by the names of their programs."""
    found = []
    if re.search(r"^ENABLED=yes", read("/etc/ufw/ufw.conf"), re.M):
        found.append("ufw")
    if run("systemctl", "is-active", "firewalld.service")[1].strip() == "active":
        found.append("firewalld")
    _, rules = run(*as_root("nft", "list", "ruleset"))
    if re.search(r"hook input priority [^;]*; policy drop;", rules) and not found:
        found.append("nftables")
    return found


def read_rdma_ports():
    found = []
    for folder in sorted(Path("/sys/class/infiniband").glob("*/ports/*")):
        found.append(
            {
                "name": f"{folder.parts[-3]}/{folder.name}",
                "state": read(folder / "state").partition(": ")[2].strip(),
                "link_layer": read(folder / "link_layer").strip(),
            }
        )
    return found


def read_cpu_flags():
    line = re.search(r"^flags\s*:(.*)$", read("/proc/cpuinfo"), re.M)
    return sorted(set(line.group(1).split()) & {"sse4_2", "avx", "avx2"}) if line else []


def is_key_enrolled():
    """Whether the firmware knows the key by which DKMS signs modules."""
    return "already enrolled" in run(*as_root("mokutil", "--test-key", "/var/lib/dkms/mok.pub"))[1]


def read_secure_boot():
    """The last byte of the firmware's variable; False where there is no such firmware."""
    for variable in Path("/sys/firmware/efi/efivars").glob("SecureBoot-*"):
        try:
            return variable.read_bytes()[-1:] == b"\1"
        except OSError:
            return False
    return False


def read_interfaces():
    found = []
    _, shown = run("ip", "-o", "-4", "address", "show", "scope", "global")
    for line in shown.splitlines():
        words = line.split()
        speed = read(f"/sys/class/net/{words[1]}/speed").strip()
        found.append(
            {
                "name": words[1],
                "address": words[3].split("/")[0],
                "speed_mbps": int(speed) if re.fullmatch(r"\d+", speed) else None,
                "is_infiniband": read(f"/sys/class/net/{words[1]}/type").strip() == "32",
                # A bridge of a container engine has none while no container runs.
                "has_link": not os.path.exists(f"/sys/class/net/{words[1]}/device")
                or read(f"/sys/class/net/{words[1]}/carrier").strip() != "0",
            }
        )
    return found


def read_listeners(ports):
    """Who listens on the ports, by the program's name where it may be seen."""
    # Only root sees whose a socket is.
    _, shown = run(*([] if os.geteuid() == 0 else ["sudo", "-n"]), "ss", "-Hltnp")
    found = {}
    for line in shown.splitlines():
        words = line.split()
        port = words[3].rpartition(":")[2]
        if port.isdigit() and int(port) in ports:
            name = re.search(r'users:\(\("([^"]+)"', line)
            found[port] = name.group(1) if name else ""
    return found


def resolves(names):
    """Each name that the package sources use, and whether this host can look it up."""
    found = {}
    for name in names:
        try:
            socket.getaddrinfo(name, None)
            found[name] = True
        except OSError:
            found[name] = False
    return found


def package_hosts():
    text = ""
    for file in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")):
        if file.suffix in (".list", ".sources"):
            text += "".join(line for line in read(file).splitlines(True) if not line.startswith("#"))
    return sorted(set(re.findall(r"https?://(?:[^@/\s]*@)?([\w.-]+)", text)))


def speaks(address):
    """Whether sshd of the peer answers, and from which of our addresses we spoke to it."""
    try:
        with socket.create_connection((address, 22), timeout=5) as connection:
            return {"answers": True, "from": connection.getsockname()[0]}
    except OSError as error:
        return {"answers": False, "problem": str(error)}


def zone():
    named = read("/etc/timezone").strip()
    return named or str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")[2] or "UTC"


def main():
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    module = AnsibleModule(
        argument_spec={
            "data_path": {"type": "path", "required": True},
            "storage_path": {"type": "path", "required": True},
            "ports": {"type": "list", "elements": "int", "default": []},
            "package_names": {"type": "list", "elements": "str", "default": []},
            "peers": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    memory, swap = read_memory()
    document = {
        "system": read_system(),
        "architecture": platform.machine(),
        "python": "{}.{}".format(*sys.version_info),
        "has_python_apt": os.path.isdir("/usr/lib/python3/dist-packages/apt"),
        "kernel": platform.release(),
        "is_systemd": Path("/run/systemd/system").is_dir(),
        "is_root": os.geteuid() == 0 or run("sudo", "-n", "true")[0] == 0,
        "cpus": os.cpu_count(),
        "memory_bytes": memory,
        "swap_bytes": swap,
        "disk": read_disk(module.params["data_path"]),
        "storage": read_storage(module.params["storage_path"]),
        "cpu_flags": read_cpu_flags(),
        "packages": read_packages(module.params["package_names"]),
        "has_run_installer": Path("/usr/bin/nvidia-uninstall").exists(),
        "nvidia_loaded": read_hardware_driver(),
        "identity": read_identity(),
        "firewalls": read_firewalls(),
        "rdma_ports": read_rdma_ports(),
        "links": sorted(path.name for path in Path("/sys/class/net").glob("*")),
        "pci": read_pci(),
        "secure_boot": read_secure_boot(),
        "is_key_enrolled": is_key_enrolled(),
        "interfaces": read_interfaces(),
        "listeners": read_listeners(module.params["ports"]),
        "resolves": resolves(package_hosts()),
        "peers": {address: speaks(address) for address in module.params["peers"]},
        "time": time.time(),
        "time_zone": zone(),
    }
    module.exit_json(changed=False, document=document)


if __name__ == "__main__":
    main()
