#!/usr/bin/python3
"""Builds one wheel of the checkout on the controller, named by everything that is in it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: groundcrew_wheel
short_description: Builds a wheel of this checkout, once per content
description: >
  The version is the project's with the first characters of a hash over every file of the packages, the howtos and
  the pinned requirements, so that two checkouts with the same content have the same version.
options:
  checkout:
    description: The folder with pyproject.toml.
    type: path
    required: true
  python:
    description: The interpreter that runs Ansible; uv and setuptools are beside it.
    type: path
    required: true
author: Groundcrew
"""
EXAMPLES = r"""
- groundcrew_wheel:
    checkout: "{{ playbook_dir }}"
    python: "{{ ansible_playbook_python }}"
"""
RETURN = r"""
version:
  description: As 0.1.0-1a2b3c4d5e6f.
  type: str
  returned: always
wheel:
  description: The path of the wheel on the controller.
  type: str
  returned: always
"""
PACKAGES = ("cluster", "portal", "worker")
HOWTOS = "docs/howto"
IN_THE_WHEEL = "portal/howto"
"""Where setup.py puts the howtos, which the portal shows as its help."""
BUILD_FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


def files_of(checkout: Path) -> list[Path]:
    """Those that the wheel has to hold."""
    return [
        file
        for folder in (*PACKAGES, HOWTOS)
        for file in sorted((checkout / folder).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    ]


def version_of(checkout: Path) -> str:
    digest = hashlib.sha256()
    others = ("pyproject.toml", "setup.py", "requirements/portal.txt")
    for file in (*files_of(checkout), *(checkout / name for name in others)):
        digest.update(os.fsencode(file.relative_to(checkout)) + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    named = re.search(r'^version = "([^"]+)"', (checkout / "pyproject.toml").read_text(), re.M)
    return f"{named.group(1) if named else '0'}-{digest.hexdigest()[:12]}"


def cache_folder() -> Path:
    if os.geteuid() == 0:
        return Path("/var/cache/groundcrew/releases")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groundcrew" / "releases"


def build(checkout: Path, folder: Path, python: str) -> None:
    """In a copy, so that nothing is written into the checkout; renamed to its place when it is whole."""
    with tempfile.TemporaryDirectory(prefix="groundcrew-wheel-", dir=folder.parent) as temporary:
        copy = Path(temporary) / "checkout"
        for file in (*files_of(checkout), *(checkout / name for name in BUILD_FILES)):
            target = copy / file.relative_to(checkout)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        uv = Path(python).parent / "uv"
        # Nothing is fetched; a cache would stay in the home of whoever runs Ansible.
        command = [str(uv), "build", "--wheel", "--no-build-isolation", "--no-cache", "--python", python]
        made = Path(temporary) / "wheel"
        subprocess.run(
            [*command, "--offline", "--out-dir", str(made), str(copy)],
            check=True,
            capture_output=True,
            text=True,
        )
        wheel = next(made.glob("*.whl"))
        missing = names_of(checkout) - set(zipfile.ZipFile(wheel).namelist())
        if missing:
            raise FileNotFoundError(f"the wheel lacks {sorted(missing)[:5]}")
        made.rename(folder)


def names_of(checkout: Path) -> set[str]:
    """The names that these files have in the wheel."""
    names = (str(file.relative_to(checkout)) for file in files_of(checkout))
    return {name.replace(f"{HOWTOS}/", f"{IN_THE_WHEEL}/", 1) for name in names}


def main() -> None:
    arguments = {
        "checkout": {"type": "path", "required": True},
        "python": {"type": "path", "required": True},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    checkout = Path(module.params["checkout"])
    version = version_of(checkout)
    folder = cache_folder() / version
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            try:
                build(checkout, folder, module.params["python"])
            except subprocess.CalledProcessError as error:
                module.fail_json(msg=f"The wheel could not be built: {error.stderr[-1500:]}")
            except OSError as error:
                module.fail_json(msg=f"The wheel could not be built: {error}")
    wheel = next(folder.glob("*.whl"))
    # Nothing of the hosts is changed by it, and another controller would build it again: never a change.
    module.exit_json(changed=False, version=version, wheel=str(wheel))


if __name__ == "__main__":
    main()
