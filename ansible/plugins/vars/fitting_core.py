"""Refuses an ansible-core that is too old before any playbook is read: later it would stumble over a missing module."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.release import __version__

from ansible.plugins.vars import BaseVarsPlugin

DOCUMENTATION = r"""
name: fitting_core
short_description: Refuses an ansible-core older than the sources map wants
description: Gives no variables.
options:
  stage:
    description: When it looks, once the inventory has been read.
    choices: [all, inventory, task]
    type: str
    default: inventory
author: Groundcrew
"""
SOURCES = Path(__file__).parents[3] / "inventory" / "group_vars" / "all" / "sources.yml"


def wanted() -> str:
    found = re.search(r'ansible_core:\n\s+at_least: "([\d.]+)"', SOURCES.read_text())
    return found.group(1) if found else "0"


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]


class VarsModule(BaseVarsPlugin):
    def get_vars(self, loader, path, entities, cache=True):  # type: ignore[no-untyped-def]
        super().get_vars(loader, path, entities)
        if numbers(__version__) < numbers(wanted()):
            raise AnsibleError(
                f"This is ansible-core {__version__}; {wanted()} or newer is needed. Type make ansible: it makes a "
                "fitting one and says where it is."
            )
        return {}
