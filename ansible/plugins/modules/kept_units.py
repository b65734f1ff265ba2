#!/usr/bin/python3
"""Keeps units enabled and running, and says whether they run with older files: then they have to be restarted.

A handler that was notified and never ran (the run was killed) is forgotten; this looks at what is, every time.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kept_units
short_description: Enables and starts units, and says whether they are outdated
description: >
  Units that are not enabled are enabled, those that do not run are started. A running unit that began before one of
  its files was written, or whose own file systemd has not read since, is outdated: that counts as a change, so that
  a handler can be notified, and nothing is done about it here. Of a socket only its own file counts.
options:
  units:
    description: Names of units, in the order in which they are to be started.
    type: list
    elements: str
    required: true
  instances:
    description: Names with an asterisk, for units that belong to those above and run the program that reads the files.
    type: list
    elements: str
    default: []
  files:
    description: What the units read when they start. A missing file counts for nothing, a link for itself.
    type: list
    elements: path
    default: []
  reloads:
    description: The units read these files also when they are reloaded, not only when they start.
    type: bool
    default: false
author: Groundcrew
"""
EXAMPLES = r"""
- kept_units:
    units: [groundcrew-portal.socket, groundcrew-portal.service]
    files: [/etc/groundcrew/portal.env]
  register: portal_kept
  notify: Restart the portal
"""
RETURN = r"""
enabled:
  description: The units that were not enabled.
  type: list
  returned: always
started:
  description: The units that did not run.
  type: list
  returned: always
outdated:
  description: Whether a handler has to restart or reload them.
  type: bool
  returned: always
sockets:
  description: The sockets that are as an older file of their own says; each has to be restarted with its service.
  type: list
  returned: always
"""
PROPERTIES = (
    "Id,LoadState,ActiveState,UnitFileState,InactiveExitTimestampMonotonic,"
    "StateChangeTimestampMonotonic,NeedDaemonReload"
)
AT_BOOT = {"enabled", "static", "alias", "indirect", "generated"}
RUNNING = {"active", "activating", "reloading"}


class UnitFailed(Exception):
    """In systemd's words."""


def show(units: list[str]) -> list[dict[str, str]]:
    done = subprocess.run(
        ["systemctl", "show", "--property", PROPERTIES, "--", *units],
        capture_output=True,
        text=True,
        check=True,
    )
    blocks = [block for block in done.stdout.split("\n\n") if block.strip()]
    return [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]


def systemctl(verb: str, units: list[str]) -> None:
    done = subprocess.run(["systemctl", verb, "--", *units], capture_output=True, text=True)
    if done.returncode != 0:
        raise UnitFailed(f"systemctl {verb} {' '.join(units)}: {done.stderr.strip()} {last_words(units)}")


def last_words(units: list[str]) -> str:
    """What the units have written to the journal most recently."""
    named = [word for unit in units for word in ("-u", unit)]
    command = ["journalctl", "--no-pager", "-q", "-o", "cat", "-n", "8", *named]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def keep(units: list[str], is_check: bool) -> tuple[list[str], list[str]]:
    """Those that were enabled and those that were started."""
    seen = show(units)
    masked = [unit["Id"] for unit in seen if unit.get("LoadState") == "masked"]
    absent = [unit["Id"] for unit in seen if unit.get("UnitFileState", "") not in AT_BOOT]
    idle = [unit["Id"] for unit in seen if unit.get("ActiveState") not in RUNNING]
    failed = [unit["Id"] for unit in seen if unit.get("ActiveState") == "failed"]
    if not is_check:
        for verb, named in (
            ("unmask", masked),
            ("enable", absent),
            ("reset-failed", failed),
            ("start", idle),
        ):
            if named:
                systemctl(verb, named)
    return absent, idle


def written_at(path: str) -> float:
    try:
        return Path(path).lstat().st_mtime
    except OSError:
        return 0.0


def are_outdated(units: list[str], files: list[str], reloads: bool) -> bool:
    newest = max([written_at(path) for path in files], default=0.0)
    since = "StateChangeTimestampMonotonic" if reloads else "InactiveExitTimestampMonotonic"
    return any(
        is_older(unit, since, newest) for unit in show(units) if not unit.get("Id", "").endswith(".socket")
    )


def is_older(unit: dict[str, str], since: str, written: float) -> bool:
    """Whether it runs since a moment before that one, or as systemd has read it before."""
    if unit.get("LoadState") != "loaded":
        return False
    booted = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    began = booted + int(unit.get(since) or 0) / 1e6
    return unit.get("NeedDaemonReload") == "yes" or (unit.get("ActiveState") in RUNNING and began < written)


def find_old_sockets(units: list[str], files: list[str]) -> list[str]:
    sockets = [unit for unit in units if unit.endswith(".socket")]
    own = {Path(path).name: written_at(path) for path in files}
    seen = show(sockets) if sockets else []
    return [
        unit["Id"]
        for unit in seen
        if is_older(unit, "InactiveExitTimestampMonotonic", own.get(unit["Id"], 0.0))
    ]


def main() -> None:
    arguments = {
        "units": {"type": "list", "elements": "str", "required": True},
        "instances": {"type": "list", "elements": "str", "default": []},
        "files": {"type": "list", "elements": "path", "default": []},
        "reloads": {"type": "bool", "default": False},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    given = module.params
    if not Path("/run/systemd/system").is_dir():
        module.exit_json(changed=False, enabled=[], started=[], outdated=False, sockets=[])
    try:
        enabled, started = keep(given["units"], module.check_mode)
    except UnitFailed as error:
        module.fail_json(msg=str(error))
    sockets = find_old_sockets(given["units"], given["files"])
    looked_at = given["instances"] or given["units"]
    outdated = bool(sockets) or are_outdated(looked_at, given["files"], given["reloads"])
    changed = bool(enabled or started or outdated)
    module.exit_json(changed=changed, enabled=enabled, started=started, outdated=outdated, sockets=sockets)


if __name__ == "__main__":
    main()
