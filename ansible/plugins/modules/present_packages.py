#!/usr/bin/python3
"""Has the distribution's packages installed; where they all are, that costs one look at dpkg's list."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: present_packages
short_description: Installs the distribution's packages where they are missing, without recommended ones
description: >
  A package that is there is not upgraded, unless it is older than the version behind >= in its name. What an
  interrupted installation has left half done is finished first, and what somebody took away by force from under other
  packages comes back. The lists of packages are fetched anew where they are older than a day.
options:
  names:
    description: The packages, as name or as name>=version.
    type: list
    elements: str
    required: true
author: Groundcrew
"""
EXAMPLES = r"""
- present_packages:
    names: [nginx-light]
"""
RETURN = r"""
installed:
  description: The packages that were missing or too old.
  type: list
  returned: always
"""
LISTS = Path("/var/lib/apt/lists")
LISTS_ARE_GOOD_FOR = 86400
"""Seconds."""
LOCK_WITHIN = 300
"""Seconds that another apt may take."""
APT = ("apt-get", "-q", "-y", f"-oDPkg::Lock::Timeout={LOCK_WITHIN}", "--no-install-recommends")


class InstallationFailed(Exception):
    """In apt's last words."""


def run(*words: str) -> str:
    environment = {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        "NEEDRESTART_MODE": "l",
    }
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    if done.returncode != 0:
        said = "\n".join(done.stdout.strip().splitlines()[-12:])
        raise InstallationFailed(f"{' '.join(words[:1] + words[-3:])} ended with {done.returncode}:\n{said}")
    return done.stdout


def read_installed(names: list[str]) -> dict[str, str]:
    """Versions by name of those that are installed whole."""
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n", *names]
    shown = subprocess.run(command, capture_output=True, text=True).stdout
    lines = [line.split() for line in shown.splitlines() if line.endswith(" installed")]
    return {name: version for name, version, _ in lines}


def find_missing(wanted: list[str]) -> list[str]:
    """Names that are not there, or older than the version behind their >=."""
    least = {name: version for name, _, version in (each.partition(">=") for each in wanted)}
    found = read_installed(list(least))
    return [name for name in least if name not in found or least[name] and is_older(found[name], least[name])]


def is_older(version: str, least: str) -> bool:
    return subprocess.run(["dpkg", "--compare-versions", version, "lt", least]).returncode == 0


def is_half_done() -> bool:
    """Whether dpkg was interrupted while it worked."""
    return bool(subprocess.run(["dpkg", "--audit"], capture_output=True, text=True).stdout.strip())


def are_dependencies_broken() -> bool:
    """Whether a package lacks another that it needs: apt then installs nothing else."""
    return subprocess.run(["apt-get", "-q", "check"], capture_output=True).returncode != 0


def are_lists_old() -> bool:
    found = [each.stat().st_mtime for each in LISTS.glob("*_Packages*")]
    return not found or time.time() - LISTS.stat().st_mtime > LISTS_ARE_GOOD_FOR


def install(missing: list[str]) -> None:
    if is_half_done():
        run("dpkg", "--configure", "-a", "--force-confdef", "--force-confold")
    if are_lists_old():
        run(*APT, "update")
    if are_dependencies_broken():
        run(*APT, "--no-remove", "--fix-broken", "install")
    run(*APT, "install", *missing)


def main() -> None:
    arguments = {"names": {"type": "list", "elements": "str", "required": True}}
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    missing = find_missing(module.params["names"])
    if missing and not module.check_mode:
        try:
            install(missing)
        except InstallationFailed as error:
            module.fail_json(msg=str(error), installed=[])
    module.exit_json(changed=bool(missing), installed=missing)


if __name__ == "__main__":
    main()
