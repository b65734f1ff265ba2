#!/usr/bin/python3
"""Brings container images of a bundle into containerd, those that are missing or of another bundle."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: node_images
short_description: Imports images of a bundle into containerd
description: >
  An image carries the checksum of the file from which it came as a label of its own, so that a second run imports
  nothing, and a deleted or foreign image is brought again. Images are pinned where containerd knows that word.
options:
  bundle:
    description: The bundle's folder, with manifest.json.
    type: path
    required: true
  names:
    description: Full references, as registry.k8s.io/pause:3.10.1.
    type: list
    elements: str
    required: true
  namespace:
    description: containerd's namespace.
    type: str
    default: k8s.io
author: Groundcrew
"""
EXAMPLES = r"""
- node_images:
    bundle: /srv/bundle
    names: ["registry.k8s.io/pause:3.10.1"]
"""
RETURN = r"""
imported:
  description: The references that were brought.
  type: list
  returned: always
"""
CAME_FROM = "groundcrew.sha256"
STAYS = ("io.cri-containerd.image=managed", "io.cri-containerd.pinned=pinned")


class ImportFailed(Exception):
    """In containerd's or our own words."""


def ctr(namespace: str, *words: str) -> str:
    command = ["ctr", "--namespace", namespace, "images", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise ImportFailed(str(error)) from error
    if done.returncode != 0:
        raise ImportFailed(f"{' '.join(command)}: {done.stderr.strip()[-800:]}")
    return done.stdout


def read_present(namespace: str) -> dict[str, str]:
    """The checksum of the file that each image came from; empty where it came in another way."""
    lines = [line.split() for line in ctr(namespace, "ls").splitlines()[1:] if line.strip()]
    return {words[0]: checksum_of(words[-1]) for words in lines}


def checksum_of(labels: str) -> str:
    known = dict(label.partition("=")[::2] for label in labels.split(","))
    return known.get(CAME_FROM, "")


def read_offered(bundle: Path) -> dict[str, dict[str, str]]:
    try:
        manifest = json.loads((bundle / "manifest.json").read_text())
    except (OSError, ValueError) as error:
        raise ImportFailed(f"{bundle} is no bundle: {error}") from error
    return {entry["name"]: entry for entry in manifest["files"] if entry["kind"] == "image"}


def bring(namespace: str, bundle: Path, name: str, entry: dict[str, str]) -> None:
    ctr(namespace, "import", str(bundle / entry["path"]))
    ctr(namespace, "label", name, f"{CAME_FROM}={entry['sha256']}", *STAYS)


def main() -> None:
    arguments = {
        "bundle": {"type": "path", "required": True},
        "names": {"type": "list", "elements": "str", "required": True},
        "namespace": {"type": "str", "default": "k8s.io"},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    given = module.params
    bundle, brought = Path(given["bundle"]), []
    try:
        offered = read_offered(bundle)
        lacking = [name for name in given["names"] if name not in offered]
        if lacking:
            raise ImportFailed(f"The bundle {bundle} has no image {', '.join(lacking)}")
        present = read_present(given["namespace"])
        for name in given["names"]:
            if present.get(name) != offered[name]["sha256"]:
                if not module.check_mode:
                    bring(given["namespace"], bundle, name, offered[name])
                brought.append(name)
    except ImportFailed as error:
        module.fail_json(msg=str(error), imported=brought)
    module.exit_json(changed=bool(brought), imported=brought)


if __name__ == "__main__":
    main()
