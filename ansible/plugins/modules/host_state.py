#!/usr/bin/python3
"""Reads what the checks of a repair ask of a host: units, doors, site, GPUs, images, last start. Changes nothing."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_state
short_description: Says how units are, and what answers
description: Reads only; the facts that a repair's verification is decided by.
options:
  units:
    description: Full names of systemd units.
    type: list
    elements: str
    default: []
  doors:
    description: Unix sockets behind which /health is asked.
    type: list
    elements: path
    default: []
  site:
    description: The port on which nginx shows the portal; 0 asks nothing.
    type: int
    default: 0
  gpus:
    description: Whether the GPUs are asked.
    type: bool
    default: false
  images:
    description: Whether the site's registry is asked for the default images, whole.
    type: bool
    default: false
author: Groundcrew
"""
EXAMPLES = r"""
- host_state:
    units: [groundcrew-portal.service]
    doors: [/run/groundcrew/portal.sock]
"""
RETURN = r"""
units:
  description: By name, {load, active, enabled, age}; age is seconds, null where it does not run.
  type: dict
  returned: always
doors:
  description: By path, the status of the answer, or null.
  type: dict
  returned: always
site:
  description: "{status, seconds_left}: what /health answers and how long its certificate is good, or null."
  type: dict
  returned: always
gpus:
  description: "{on_bus, answer, problem}: how many the PCI bus has, how many nvidia-smi lists, what it says otherwise."
  type: dict
  returned: always
images:
  description: "{missing, problem}: default images that a node could not pull whole, and why nobody knows."
  type: dict
  returned: always
age:
  description: Seconds since process 1 began. No moment is told, because nobody else goes by this host's clock.
  type: float
  returned: always
"""
PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,ActiveEnterTimestampMonotonic"
PATIENCE = 5
MISSING_IMAGES = ["/opt/groundcrew/current/bin/python", "-m", "worker.images", "missing"]


def read_units(names: list[str]) -> dict[str, dict[str, object]]:
    """One by one: systemd shows an alias under its other name."""
    return {name: read_unit(name) for name in names}


def read_unit(name: str) -> dict[str, object]:
    command = ["systemctl", "show", "--property", PROPERTIES, "--", name]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    entered = int(found.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
    is_active = found.get("ActiveState") == "active"
    return {
        "load": found.get("LoadState", ""),
        "active": found.get("ActiveState", ""),
        "enabled": found.get("UnitFileState", ""),
        "age": time.clock_gettime(time.CLOCK_MONOTONIC) - entered if is_active else None,
    }


class Door(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.host)


def ask(path: str) -> int | None:
    door = Door(path)
    try:
        door.request("GET", "/health", headers={"Host": "localhost"})
        return door.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        door.close()


def ask_site(port: int) -> dict[str, object]:
    if not port:
        return {"status": None, "seconds_left": None}
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=anybody())
    try:
        connection.request("GET", "/health", headers={"Host": "localhost"})
        shown = connection.sock.getpeercert(binary_form=True)
        status = connection.getresponse().status
        return {"status": status, "seconds_left": seconds_left(ssl.DER_cert_to_PEM_cert(shown))}
    except (OSError, http.client.HTTPException):
        return {"status": None, "seconds_left": None}
    finally:
        connection.close()


def anybody() -> ssl.SSLContext:
    """An expired certificate is what is looked for: it must not end the look."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def seconds_left(certificate: str) -> float | None:
    command = ["openssl", "x509", "-noout", "-enddate"]
    said = subprocess.run(command, input=certificate, capture_output=True, text=True, check=False).stdout
    if not said.startswith("notAfter="):
        return None
    return ssl.cert_time_to_seconds(said.strip().partition("=")[2]) - time.time()


def ask_gpus() -> dict[str, object]:
    """nvidia-smi itself says so where driver and library differ, or a GPU has fallen off the bus."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"on_bus": gpus_on_bus(), "answer": 0, "problem": str(error)[:200]}
    said = (listed.stdout + listed.stderr).strip()
    problem = "" if listed.returncode == 0 else said[:200] or f"nvidia-smi ended with {listed.returncode}"
    answer = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
    return {"on_bus": gpus_on_bus(), "answer": answer, "problem": problem}


def gpus_on_bus() -> int:
    found = 0
    for card in Path("/sys/bus/pci/devices").glob("*"):
        vendor, kind = ((card / name).read_text().strip() for name in ("vendor", "class"))
        found += vendor == "0x10de" and kind.startswith(("0x0300", "0x0302"))
    return found


def ask_images() -> dict[str, object]:
    try:
        asked = subprocess.run(MISSING_IMAGES, capture_output=True, text=True, check=False, timeout=120)
        return {"missing": json.loads(asked.stdout)["missing"], "problem": ""}
    except ValueError:
        said = (asked.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return {"missing": [], "problem": said[:200]}
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"missing": [], "problem": str(error)[:200]}


def age() -> float:
    """Where a container is the host, the kernel has been up for longer: process 1 tells its own beginning."""
    ticks = int(Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    lists = {"type": "list", "default": []}
    arguments = {
        "units": {**lists, "elements": "str"},
        "doors": {**lists, "elements": "path"},
        "site": {"type": "int", "default": 0},
        "gpus": {"type": "bool", "default": False},
        "images": {"type": "bool", "default": False},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    given = module.params
    doors = {path: ask(path) for path in given["doors"]}
    module.exit_json(
        changed=False,
        units=read_units(given["units"]),
        doors=doors,
        site=ask_site(given["site"]),
        gpus=ask_gpus() if given["gpus"] else {},
        images=ask_images() if given["images"] else {},
        age=age(),
    )


if __name__ == "__main__":
    main()
