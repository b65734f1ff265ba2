"""Says at the end of a run that failed what went wrong on which host, what helps, and how to go on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: plain_ending
type: aggregate
short_description: A failed run ends with its cause, a remedy and the command that goes on
description: >
  A task may name its own remedy by a variable whose name ends with _remedy; a refusal (assert) carries it in its
  sentence.
"""

REMEDIES = {
    "unreachable": "Is the host on, and its address in the inventory right? Try what Ansible tries: "
    "ssh USER@ADDRESS true, with the user and the key of the inventory.",
    "packages": "Type on that host: apt-get update, then apt-get install with the names above. Package servers that "
    "the host cannot look up are named by: ansible-playbook site.yml --tags preflight",
    "units": "Look on that host: systemctl --failed, then journalctl -n 50 -u with the unit's name.",
    "download": "Does that host reach the address above? For a mirror in your network set groundcrew_vendor_mirror in "
    "the inventory.",
    "other": "What the task does on a host is said in its role's README.md under roles/.",
}
KINDS = {
    "present_packages": "packages",
    "apt": "packages",
    "brought_packages": "packages",
    "kept_units": "units",
    "systemd_service": "units",
    "service": "units",
    "get_url": "download",
}
LONGEST = 1500
"""Characters of a message that are repeated; the whole of it stands further up."""


def ending(failures: Sequence[Mapping[str, str]], command: str) -> list[str]:
    """`failures` with host, task, message and remedy; the same trouble on several hosts is said once."""
    lines = ["", "This run has not ended well."]
    for (task, message, remedy), hosts in grouped(failures).items():
        lines += [f"  {', '.join(hosts)}: {task}"]
        lines += [f"    {line}" for line in message.splitlines()]
        lines += [f"    remedy: {remedy}"] if remedy else []
    return [
        *lines,
        "  What was done stays as it is. Mend the cause, then the same command goes on from there:",
        f"    {command}",
    ]


def grouped(failures: Sequence[Mapping[str, str]]) -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for each in failures:
        found.setdefault((each["task"], each["message"], each["remedy"]), []).append(each["host"])
    return found


def message_of(result: Mapping[str, Any]) -> str:
    """What the module said, and of a command the last words; a loop tells of the items that failed."""
    if "censored" in result:
        return "It handles secrets, so that its output is not shown."
    items = [each for each in result.get("results", []) if isinstance(each, dict) and each.get("failed")]
    if items:
        return "\n".join(message_of(each) for each in items)[-LONGEST:]
    said = [str(result.get("msg", "")).strip(), str(result.get("stderr", "")).strip()]
    return "\n".join(part for part in said if part)[-LONGEST:] or "It gave no reason."


def remedy_of(action: str, variables: Mapping[str, Any]) -> str:
    """The task's own; else the one that fits the module. A refusal says itself what to do."""
    own = [str(value) for name, value in variables.items() if name.endswith("_remedy")]
    name = action.rpartition(".")[2]
    if own or name in {"assert", "fail"}:
        return " ".join(own)
    return REMEDIES[KINDS.get(name, "other")]


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "plain_ending"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[dict[str, str]] = []

    def remember(self, result: Any, remedy: str) -> None:
        known = {"task": result.task.get_name(), "message": message_of(result.result), "remedy": remedy}
        self.failures.append({"host": result.host.get_name(), **known})

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            self.remember(result, remedy_of(result.task.action, result.task.vars))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self.remember(result, REMEDIES["unreachable"])

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if stats.failures or stats.dark:
            command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
            for line in ending(self.failures, command):
                self._display.display(line)
