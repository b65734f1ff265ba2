"""Canaries record what must not change, whatever an adversary does: owner, mode, content and attributes of every
file, and which processes live.

Standard library alone, for it also runs on test hosts:

    python3 canaries.py FOLDER … > before.json
"""

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Facts = dict[str, str]
"""What each path is, in words."""
LARGEST = 8 * 1024 * 1024
"""Bytes of a file that are read; of the rest its size counts."""


def look_at(folders: Iterable[str | Path], without: Iterable[str | Path] = ()) -> Facts:
    """Everything in these folders and themselves; what is in `without` has only its owner and mode looked at."""
    passed_over = {str(path) for path in without}
    return {
        path: facts
        for folder in folders
        for path in walk(str(folder), passed_over)
        if (facts := facts_of(path, path in passed_over))
    }


def walk(path: str, without: set[str]) -> Iterator[str]:
    yield path
    if path in without or os.path.islink(path) or not os.path.isdir(path):
        return
    try:
        names = sorted(os.listdir(path))
    except FileNotFoundError:
        return
    for name in names:
        yield from walk(os.path.join(path, name), without)


def facts_of(path: str, is_shallow: bool = False) -> str:
    """Empty where it has gone meanwhile."""
    try:
        status = os.lstat(path)
        words = [
            f"{stat.filemode(status.st_mode)} {stat.S_IMODE(status.st_mode):o} {status.st_uid}:{status.st_gid}"
        ]
        if stat.S_ISLNK(status.st_mode):
            words.append(f"-> {os.readlink(path)}")
        if stat.S_ISREG(status.st_mode) and not is_shallow:
            words.append(f"{status.st_nlink} names, {status.st_size} bytes, {digest_of(path)}")
        words += [f"{name}={value!r}" for name, value in sorted(attributes_of(path).items())]
    except FileNotFoundError:
        return ""
    return " ".join(words)


def digest_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(LARGEST)).hexdigest()[:16]


def attributes_of(path: str) -> Mapping[str, bytes]:
    """Extended attributes, access lists among them; none where the file system has none."""
    try:
        return {
            name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)
        }
    except OSError:
        return {}


def differences(before: Facts, after: Facts) -> list[str]:
    """In words, one line each."""
    found = [f"gone: {path}, it was {facts}" for path, facts in before.items() if path not in after]
    found += [f"made: {path} is {facts}" for path, facts in after.items() if path not in before]
    found += [
        f"changed: {path} was {facts}, is {after[path]}"
        for path, facts in before.items()
        if path in after and after[path] != facts
    ]
    return sorted(found)


def started_at(pid: int) -> str:
    """Start ticks of a process that lives and was not stopped; empty of any other."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZXTt" else fields[19]


if __name__ == "__main__":
    json.dump(look_at(sys.argv[1:]), sys.stdout)
