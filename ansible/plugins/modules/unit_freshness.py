#!/usr/bin/python3
"""Says whether a running unit began before the files that it reads: then it has to be restarted.

A handler that was notified and never ran (the run was killed) is forgotten; this looks at what is, every time.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: unit_freshness
short_description: Whether units run with older files than those on the disk
description: >
  Reports a change, so that a handler can be notified, where a running unit began before one of the files was
  written, or where systemd has not read a unit's file since. Changes nothing itself.
options:
  units:
    description: Names of units; a name with an asterisk stands for all loaded ones that match.
    type: list
    elements: str
    required: true
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
- unit_freshness:
    units: [groundcrew-portal.service]
    files: [/etc/groundcrew/portal.env]
  notify: Restart the portal
"""
RETURN = r"""
stale:
  description: The units to restart.
  type: list
  returned: always
unread:
  description: Whether systemd has to read unit files anew.
  type: bool
  returned: always
"""
PROPERTIES = (
    "Id,LoadState,ActiveState,InactiveExitTimestampMonotonic,StateChangeTimestampMonotonic,NeedDaemonReload"
)


def show(units: list[str]) -> list[dict[str, str]]:
    done = subprocess.run(
        ["systemctl", "show", "--property", PROPERTIES, *units], capture_output=True, text=True, check=True
    )
    blocks = [block for block in done.stdout.split("\n\n") if block.strip()]
    return [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]


def written_at(path: str) -> float:
    try:
        return Path(path).lstat().st_mtime
    except OSError:
        return 0.0


def main() -> None:
    arguments = {
        "units": {"type": "list", "elements": "str", "required": True},
        "files": {"type": "list", "elements": "path", "default": []},
        "reloads": {"type": "bool", "default": False},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    if not Path("/run/systemd/system").is_dir():
        module.exit_json(changed=False, stale=[], unread=False)
    newest = max([written_at(path) for path in module.params["files"]], default=0.0)
    booted = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
    since = "StateChangeTimestampMonotonic" if module.params["reloads"] else "InactiveExitTimestampMonotonic"
    units = [unit for unit in show(module.params["units"]) if unit.get("LoadState") == "loaded"]
    unread = any(unit.get("NeedDaemonReload") == "yes" for unit in units)
    stale = [
        unit["Id"]
        for unit in units
        if unit.get("ActiveState") in {"active", "activating"}
        and booted + int(unit.get(since) or 0) / 1e6 < newest
    ]
    module.exit_json(changed=bool(stale or unread), stale=stale, unread=unread)


if __name__ == "__main__":
    main()
