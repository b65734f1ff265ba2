#!/usr/bin/python3
"""Takes off the packages that an installation has brought, with what came along, and nothing that was there before."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: brought_packages
short_description: Takes off packages that were not on the host before
description: >
  Ours are marked as if they had come along with others; apt then says what nobody on this host needs any more. Of that
  only what is not in the list from before is purged. Packages that somebody else's package needs stay.
options:
  before:
    description: A folder with the files packages and automatic, as the role base wrote them before it did anything.
    type: path
    required: true
  ours:
    description: Patterns of the names of packages that our roles install.
    type: list
    elements: str
    required: true
  let_go:
    description: Patterns of more names that are no longer held back from upgrades, and stay.
    type: list
    elements: str
    default: []
  keep:
    description: Patterns of names among ours that stay, because they hold data.
    type: list
    elements: str
    default: []
author: Groundcrew
"""
EXAMPLES = r"""
- brought_packages:
    before: /var/lib/groundcrew-before
    ours: [nginx.*]
"""
RETURN = r"""
removed:
  description: The packages that were taken off.
  type: list
  returned: always
"""
# A package that only recommends one of ours got along without it before.
NEEDED = [f"-oAPT::AutoRemove::{kind}Important=false" for kind in ("Recommends", "Suggests")]


def run(*words: str) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout


def installed() -> set[str]:
    shown = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n")
    return {line.split()[1] for line in shown.splitlines() if line.startswith("installed ")}


def chosen(names: set[str], patterns: list[str]) -> set[str]:
    return {name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns)}


def mark_as_before(automatic: set[str]) -> bool:
    """What had come along with others before our roles named it has come along again. Whether any was marked."""
    marked = sorted(automatic & set(run("apt-mark", "showmanual").split()))
    if marked:
        run("apt-mark", "auto", *marked)
    return bool(marked)


def release(patterns: list[str], before: set[str]) -> bool:
    """Whether any of these was held and had not been held before."""
    held = sorted(chosen(set(run("apt-mark", "showhold").split()), patterns) - before)
    if held:
        run("apt-mark", "unhold", *held)
    return bool(held)


def gone_with(*words: str) -> set[str]:
    """The packages that apt says it would take off."""
    return set(re.findall(r"^(?:Purg|Remv) (\S+)", run("apt-get", *NEEDED, "-s", "--purge", *words), re.M))


def take_off(ours: set[str], before: set[str]) -> list[str]:
    """Marks ours, asks apt what nobody needs, and purges of that what is new."""
    if ours:
        run("apt-mark", "auto", *sorted(ours))
    taken = gone_with("autoremove") - before
    # A package can forbid apt to ever call it unneeded, as PostgreSQL's servers do: such a one goes with ours alone.
    for name in sorted(ours - taken):
        together = gone_with("purge", name)
        taken |= together if together <= ours | taken else set()
    if taken:
        run("apt-get", "-q", "-y", "purge", *sorted(taken))
    came_along = sorted(gone_with("autoremove") - before - taken) if taken else []
    if came_along:
        run("apt-get", "-q", "-y", "purge", *came_along)
    return sorted(taken | set(came_along))


def main() -> None:
    arguments = {
        "before": {"type": "path", "required": True},
        "ours": {"type": "list", "elements": "str", "required": True},
        "let_go": {"type": "list", "elements": "str", "default": []},
        "keep": {"type": "list", "elements": "str", "default": []},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    folder = Path(module.params["before"])
    if not (folder / "packages").exists():
        module.exit_json(changed=False, removed=[])
    before = set((folder / "packages").read_text().split())
    new = installed() - before
    ours = chosen(new, module.params["ours"]) - chosen(new, module.params["keep"])
    if module.check_mode:
        module.exit_json(changed=bool(ours), removed=sorted(ours))
    try:
        held = folder / "held"
        patterns = module.params["ours"] + module.params["let_go"]
        released = release(patterns, set(held.read_text().split()) if held.exists() else set())
        removed = take_off(ours, before)
        marked = mark_as_before(set((folder / "automatic").read_text().split()))
    except subprocess.CalledProcessError as error:
        module.fail_json(msg=f"{' '.join(error.cmd[:3])} failed: {error.stderr.strip()[-1500:]}")
    module.exit_json(changed=bool(removed) or marked or released, removed=removed)


if __name__ == "__main__":
    main()
