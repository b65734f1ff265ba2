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
    """Reserves space for a later `write_reserved`, so that a disk that fills up in between cannot prevent it.

    The file is not synced, because file systems count written bytes as used before they are on the disk.
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
    """Fills the reserved file in place and renames it, so that the file at `path` is complete, also after a power
    failure.
    """
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
    """Replaces the file. Readers see the old or the new one. It is not synced, because it is not needed after a power
    failure.

    Each call has its own temporary name, so threads of one process may write the same file at once.
    """
    write_text_atomically(path, json.dumps(value, sort_keys=True))


def write_text_atomically(path: str, text: str) -> None:
    """Replaces the file by any text, as `write_json_atomically` does."""
    temporary = "%s.%d.%s.tmp" % (path, os.getpid(), os.urandom(4).hex())
    # The folder may belong to an untrusted user, so no existing file is opened.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o644)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.rename(temporary, path)


def create_json_once(path: str, value: Dict[str, Any]) -> bool:
    """Creates the file. Returns False if it exists. A hard link is as exclusive as O_EXCL and never visible
    half-written.
    """
    # The folder may belong to an untrusted user: the name cannot be guessed, and no existing file is opened.
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


def read_untrusted_file(
    folder: str, name: str, most_names: int = 1, most_bytes: int = MOST_BYTES
) -> Optional[bytes]:
    """The bytes of a small regular file. None if it is missing, a link, a pipe or too large.

    `folder` may belong to an untrusted user: no link is followed and no call blocks. A file with more than
    `most_names` names may be somebody else's and is refused.
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
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > most_names or facts.st_size > most_bytes:
            return None
        return os.read(descriptor, most_bytes)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def read_untrusted_marker(folder: str, name: str) -> Optional[Dict[str, Any]]:
    """Reads what `create_json_once` wrote, which keeps its temporary name as well if the writer was killed."""
    return read_untrusted_json(folder, name, most_names=2)


def read_untrusted_json(folder: str, name: str, most_names: int = 1) -> Optional[Dict[str, Any]]:
    """The JSON object in a file that `read_untrusted_file` reads, or None."""
    content = read_untrusted_file(folder, name, most_names)
    try:
        value = json.loads(content.decode()) if content else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
