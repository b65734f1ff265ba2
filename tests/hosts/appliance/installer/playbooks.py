"""Runs a playbook as a person types it, with the environment that `make ansible` builds."""

import functools
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]


@functools.cache
def ansible() -> Path:
    """The folder of `ansible-playbook`; built here where it is missing."""
    command = ["/usr/bin/python3", "-B", "-m", "worker.bootstrap", "ansible", "--path"]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Path(said.stdout.split()[-1])


def run_playbook(
    playbook: str, inventory: Path, *words: str, given: Mapping[str, Any] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Output and errors together; the caller looks at the exit code. `given` are extra variables.

    Ansible reads group_vars beside the inventory: one of a test lies elsewhere and borrows those of the product.
    """
    beside = inventory.parent / "group_vars"
    if not beside.exists():
        beside.symlink_to(ROOT / "inventory" / "group_vars")
    command = [str(ansible() / "ansible-playbook"), "--inventory", str(inventory), playbook, *words]
    if given:
        command += ["--extra-vars", json.dumps(given)]
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(inventory.parent / "cp"),
    }
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
