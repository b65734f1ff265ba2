"""Replace a file in one step: it has all of its new content or stays as it was, also after a power failure.

The new content is written beside the file, under a name that ends in `.unfinished`, and takes its name when it is on
the disk. The folder is opened once and everything beneath it is named by its descriptor, as root needs it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cluster.files import safe_files
from cluster.files.safe_files import Owner

UNFINISHED = ".unfinished"


def write_atomically(
    path: Path, content: bytes | str, mode: int = 0o600, owner: Owner = (-1, -1), is_synced: bool = True
) -> None:
    """`path` has this content, mode and owner afterwards, whatever the umask is. Text is written as UTF-8."""
    with open_atomically(path, mode, owner, is_synced) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(
    path: Path, mode: int = 0o600, owner: Owner = (-1, -1), is_synced: bool = True
) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends; where the block raises, nothing has changed.

    Not synced, it is whole for every reader, but a power failure may lose it: for what is written anew all the time.
    """
    with safe_files.open_folder_path(path.parent) as folder:
        name = safe_files.check_name(path.name)
        unfinished = f".{name}.{os.urandom(8).hex()}{UNFINISHED}"
        descriptor = os.open(unfinished, safe_files.NEW_FILE, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                safe_files.set_owner_and_mode(descriptor, mode, owner)
                if is_synced:
                    os.fsync(descriptor)
            os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            safe_files.remove_name(folder, unfinished)
            raise
        if is_synced:
            os.fsync(folder)
