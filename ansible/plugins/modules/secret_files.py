#!/usr/bin/python3
"""Makes secrets on the host itself, once, and hands them to templates; they are never kept on the controller."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: secret_files
short_description: Makes files with random secrets where they are missing
description: >
  Each file holds 256 random bits as hexadecimal digits, readable by root alone, and appears whole or not at all.
  Use no_log, because the secrets are returned.
options:
  folder:
    description: Where the files lie. It must be there, except in check mode.
    type: path
    required: true
  names:
    description: The names of the files.
    type: list
    elements: str
    required: true
author: Groundcrew
"""
EXAMPLES = r"""
- secret_files:
    folder: /etc/groundcrew/secrets
    names: [form-key]
  register: portal_secrets
  no_log: true
"""
RETURN = r"""
secrets:
  description: The secrets by name.
  type: dict
  returned: always
"""


def make(path: Path) -> str:
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    value = secrets.token_hex(32)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{value}\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    return value


def main() -> None:
    arguments = {
        "folder": {"type": "path", "required": True},
        "names": {"type": "list", "elements": "str", "required": True},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    folder = Path(module.params["folder"])
    found, changed = {}, False
    for name in module.params["names"]:
        path = folder / name
        known = path.read_text().strip() if path.exists() else ""
        changed = changed or not known
        if not known:
            known = "made-by-a-real-run" if module.check_mode else make(path)
        found[name] = known
    module.exit_json(changed=changed, secrets=found)


if __name__ == "__main__":
    main()
