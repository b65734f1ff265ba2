#!/usr/bin/python3
"""Reads what the checks of a repair ask of a host: how its units are, and whether a door answers. Changes nothing."""

from __future__ import annotations

import http.client
import socket
import subprocess

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_state
short_description: Says how units are and whether unix sockets answer HTTP
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
author: Groundcrew
"""
EXAMPLES = r"""
- host_state:
    units: [groundcrew-portal.service]
    doors: [/run/groundcrew/portal.sock]
"""
RETURN = r"""
units:
  description: By name, {load, active, enabled, since}; since is seconds since 1970, 0 where it does not run.
  type: dict
  returned: always
doors:
  description: By path, the status of the answer, or null.
  type: dict
  returned: always
"""
PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,ActiveEnterTimestamp"
PATIENCE = 5


def read_units(names: list[str]) -> dict[str, dict[str, object]]:
    """One by one: systemd shows an alias under its other name."""
    return {name: read_unit(name) for name in names}


def read_unit(name: str) -> dict[str, object]:
    command = ["systemctl", "show", "--timestamp=unix", "--property", PROPERTIES, "--", name]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    since = found.get("ActiveEnterTimestamp", "").lstrip("@")
    return {
        "load": found.get("LoadState", ""),
        "active": found.get("ActiveState", ""),
        "enabled": found.get("UnitFileState", ""),
        "since": int(since) if since.isdigit() and found.get("ActiveState") == "active" else 0,
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


def main() -> None:
    lists = {"type": "list", "default": []}
    arguments = {"units": {**lists, "elements": "str"}, "doors": {**lists, "elements": "path"}}
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    given = module.params
    doors = {path: ask(path) for path in given["doors"]}
    module.exit_json(changed=False, units=read_units(given["units"]), doors=doors)


if __name__ == "__main__":
    main()
