"""The shim's files: written atomically, and read as if untrusted users had written them."""

import json
import os
import stat
from typing import Any, Dict, Optional

RESERVE = b" " * 65536
MOST_BYTES = 256 * 1024


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_fully(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def reserve_file(path: str) -> None:
    """Takes the room for a later `write_reserved` now, so that a full disk cannot eat the result.

    Not synced: file systems count what was written as taken before it is on the disk.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        write_fully(descriptor, RESERVE)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def write_reserved(reserved: str, path: str, value: Dict[str, Any]) -> None:
    """Fills the reserved file in place, then gives it its name: never half a file, also after a power cut."""
    data = json.dumps(value, sort_keys=True).encode()
    descriptor = os.open(reserved, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        write_fully(descriptor, data)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(reserved, path)
    sync_folder(os.path.dirname(path))


def write_json_atomically(path: str, value: Dict[str, Any]) -> None:
    """Readers see the old or the new, never a half. Not synced: after a power cut nobody needs these.

    Threads of one process may write the same file at once: each has a temporary name of its own.
    """
    temporary = "%s.%d.%s.tmp" % (path, os.getpid(), os.urandom(4).hex())
    # The folder may be a stranger's: nothing that stands there is opened.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o644)
    with os.fdopen(descriptor, "w") as file:
        json.dump(value, file, sort_keys=True)
    os.rename(temporary, path)


def create_json_once(path: str, value: Dict[str, Any]) -> bool:
    """False where it stands already. A hard link is as exclusive as O_EXCL and never seen half-written."""
    # The folder may be a stranger's: no name that could be guessed, nothing that stands there is opened.
    temporary = "%s.%s.tmp" % (path, os.urandom(8).hex())
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        write_fully(descriptor, json.dumps(value, sort_keys=True).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    sync_folder(os.path.dirname(path))
    return True


def read_untrusted_file(folder: str, name: str, most_names: int = 1) -> Optional[bytes]:
    """The whole of a small regular file; None where it is missing, a link, a pipe, too large.

    `folder` may belong to a stranger: nothing is followed and nothing blocks, and a file that has more than
    `most_names` names may be somebody else's.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        beneath = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        descriptor = os.open(name, flags, dir_fd=beneath)
    except OSError:
        return None
    finally:
        os.close(beneath)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > most_names or facts.st_size > MOST_BYTES:
            return None
        return os.read(descriptor, MOST_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def read_untrusted_marker(folder: str, name: str) -> Optional[Dict[str, Any]]:
    """What `create_json_once` made, also under its temporary name, which it keeps where its maker was killed."""
    return read_untrusted_json(folder, name, most_names=2)


def read_untrusted_json(folder: str, name: str, most_names: int = 1) -> Optional[Dict[str, Any]]:
    """The JSON object in such a file; None where there is none."""
    content = read_untrusted_file(folder, name, most_names)
    try:
        value = json.loads(content.decode()) if content else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
