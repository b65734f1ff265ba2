#!/usr/bin/python3
"""Puts folders and files in place, all of a role's in one go: each run of a module on a host costs half a second."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_files
short_description: Puts many folders and files with their contents, owners and modes in place
description: >
  Folders first, in the given order, then files. A file appears whole or not at all, with its owner and mode from the
  first moment on. Use no_log where a file holds a secret.
options:
  folders:
    description: Folders that must be there.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: path, required: true, description: Where it is.}
      owner: {type: str, default: root, description: The owner's name.}
      group: {type: str, default: root, description: The group's name.}
      mode: {type: str, default: "0755", description: Octal digits.}
  files:
    description: Files that must be there with these contents.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {type: path, required: true, description: Where it is; its folder must be there, except in check mode.}
      content: {type: str, description: The whole content.}
      source: {type: path, description: "In place of content: a file of the same host that has it."}
      owner: {type: str, default: root, description: The owner's name.}
      group: {type: str, default: root, description: The group's name.}
      mode: {type: str, default: "0644", description: Octal digits.}
  alone:
    description: Folders below which no other file may lie than those that are given; others are deleted.
    type: list
    elements: path
    default: []
author: Groundcrew
"""
EXAMPLES = r"""
- host_files:
    folders: [{path: /etc/groundcrew}]
    files:
      - path: /etc/groundcrew/groundcrew.env
        content: "{{ lookup('ansible.builtin.template', 'groundcrew.env.j2') }}"
        mode: "0600"
"""
RETURN = r"""
paths:
  description: What was made, changed or deleted.
  type: list
  returned: always
"""
Given = dict[str, Any]


def number_of(given: Given) -> tuple[int, int] | None:
    """The owner's and the group's numbers; None where one of them is not known on this host (yet)."""
    try:
        return pwd.getpwnam(given["owner"]).pw_uid, grp.getgrnam(given["group"]).gr_gid
    except KeyError:
        return None


def is_as_given(given: Given) -> bool:
    """Whether owner, group and mode are right."""
    found = os.lstat(given["path"])
    return number_of(given) == (found.st_uid, found.st_gid) and found.st_mode & 0o7777 == int(
        given["mode"], 8
    )


def hand_over(descriptor: int, given: Given) -> None:
    """Raises LookupError with the name of an owner who is not there."""
    numbers = number_of(given)
    if numbers is None:
        raise LookupError(f"there is no user {given['owner']} or no group {given['group']} on this host")
    os.fchown(descriptor, *numbers)
    os.fchmod(descriptor, int(given["mode"], 8))


def hand_over_what_is_there(path: Path, given: Given, flags: int) -> None:
    """Raises OSError where a link has its place: a service that owns the folder above could have put it there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        hand_over(descriptor, given)
    finally:
        os.close(descriptor)


def lay_folder(given: Given, is_check: bool) -> bool:
    """Whether something was to be done."""
    path = Path(given["path"])
    if path.is_dir() and not path.is_symlink() and is_as_given(given):
        return False
    if not is_check:
        path.mkdir(parents=True, exist_ok=True)
        hand_over_what_is_there(path, given, os.O_DIRECTORY)
    return True


def content_of(given: Given) -> bytes:
    """Raises OSError where the source cannot be read."""
    return Path(given["source"]).read_bytes() if given["source"] else given["content"].encode()


def lay_file(given: Given, is_check: bool) -> tuple[bool, str]:
    """Whether something was to be done, and the content before."""
    path = Path(given["path"])
    is_file = path.is_file() and not path.is_symlink()
    before = path.read_bytes() if is_file else b""
    wanted = content_of(given)
    if is_file and before == wanted and is_as_given(given):
        return False, ""
    if not is_check:
        if is_file and before == wanted:
            hand_over_what_is_there(path, given, 0)
        else:
            write_whole(path, wanted, given)
    return True, before.decode(errors="replace")


def write_whole(path: Path, content: bytes, given: Given) -> None:
    """Beside its place and renamed there; what a killed run has left is written anew."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        hand_over(file.fileno(), given)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def clear_others(folder: Path, wanted: set[str], is_check: bool) -> list[str]:
    """The files that were in the way."""
    found = sorted(str(path) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    others = [path for path in found if path not in wanted]
    for path in others if not is_check else ():
        os.unlink(path)
    return others


def main() -> None:
    common: Given = {
        "path": {"type": "path", "required": True},
        "owner": {"type": "str", "default": "root"},
        "group": {"type": "str", "default": "root"},
    }
    folder = {**common, "mode": {"type": "str", "default": "0755"}}
    file = {
        **common,
        "mode": {"type": "str", "default": "0644"},
        "content": {"type": "str"},
        "source": {"type": "path"},
    }
    arguments: Given = {
        "folders": {"type": "list", "elements": "dict", "default": [], "options": folder},
        "files": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": file,
            "required_one_of": [("content", "source")],
            "mutually_exclusive": [("content", "source")],
        },
        "alone": {"type": "list", "elements": "path", "default": []},
    }
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    changed, shown = [], []
    try:
        for given in module.params["folders"]:
            if lay_folder(given, module.check_mode):
                changed.append(given["path"])
        for given in module.params["files"]:
            is_new, before = lay_file(given, module.check_mode)
            if is_new:
                changed.append(given["path"])
                headers = {"before_header": given["path"], "after_header": given["path"]}
                shown.append(
                    {**headers, "before": before, "after": content_of(given).decode(errors="replace")}
                )
        wanted = {given["path"] for given in module.params["files"]}
        for alone in module.params["alone"]:
            changed += clear_others(Path(alone), wanted, module.check_mode)
    except (OSError, LookupError) as error:
        module.fail_json(msg=f"The files could not be put in place: {error}", paths=changed)
    module.exit_json(changed=bool(changed), paths=changed, diff=shown if module._diff else [])


if __name__ == "__main__":
    main()
