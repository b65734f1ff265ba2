#!/usr/bin/python3
"""Makes a Kubernetes cluster have the objects of one folder, and says whether it had them already."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: cluster_objects
short_description: Applies a folder with a kustomization to the cluster, on the server's side
description: >
  The API server is asked first what would differ; nothing is applied where nothing does. Fields that others manage
  (certificates that a webhook writes into its own configuration) are theirs.
options:
  folder:
    description: A folder with kustomization.yaml.
    type: path
    required: true
  config:
    description: The kubeconfig.
    type: path
    default: /etc/kubernetes/admin.conf
  patience:
    description: Seconds for which an API server or a webhook that does not answer yet is asked again.
    type: int
    default: 180
author: Groundcrew
"""
EXAMPLES = r"""
- cluster_objects:
    folder: /etc/groundcrew/kubernetes/flannel
"""
RETURN = r"""
differing:
  description: What differed, or that it was not there.
  type: str
  returned: always
"""
MISSING = ("not found", "no matches for kind", "ensure CRDs are installed")
"""An object whose namespace or kind does not exist yet is one that differs."""


class ClusterSilent(Exception):
    """In kubectl's last words."""


ANSWERS_WITHIN = 60
"""Seconds, of one request; ENDS_WITHIN of all that one command asks for."""
ENDS_WITHIN = 300


def kubectl(config: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Raises ClusterSilent where it comes to no end, or is not there."""
    command = ["kubectl", "--kubeconfig", config, f"--request-timeout={ANSWERS_WITHIN}s", *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=ENDS_WITHIN)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterSilent(str(error)[:300]) from error


def find_difference(config: str, folder: str) -> str:
    """Empty where the cluster has it all. Raises ClusterSilent."""
    done = kubectl(config, "diff", "--server-side", "--force-conflicts", "-k", folder)
    if done.returncode == 0:
        return ""
    if done.returncode == 1 and done.stdout:
        return done.stdout[-4000:]
    if any(words in done.stderr for words in MISSING):
        return done.stderr.strip()[-500:]
    raise ClusterSilent(done.stderr.strip()[-1500:])


def apply(config: str, folder: str) -> None:
    done = kubectl(config, "apply", "--server-side", "--force-conflicts", "-k", folder)
    if done.returncode != 0:
        raise ClusterSilent(done.stderr.strip()[-1500:])


def patiently(seconds: int, act: Callable[..., Any], *words: str) -> Any:
    """Raises ClusterSilent with the last words once the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return act(*words)
        except ClusterSilent:
            if time.monotonic() > deadline:
                raise
            time.sleep(2)


def main() -> None:
    arguments = {
        "folder": {"type": "path", "required": True},
        "config": {"type": "path", "default": "/etc/kubernetes/admin.conf"},
        "patience": {"type": "int", "default": 180},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    given = module.params
    place = (given["config"], given["folder"])
    try:
        difference = patiently(given["patience"], find_difference, *place)
        if difference and not module.check_mode:
            patiently(given["patience"], apply, *place)
    except ClusterSilent as error:
        module.fail_json(msg=f"The cluster did not take {given['folder']}: {error}", differing="")
    module.exit_json(changed=bool(difference), differing=difference)


if __name__ == "__main__":
    main()
