"""Replace a file in one step: it has its new content or stays as it was, also after a power failure.

The new content is written beside the file, under a name that ends in `.unfinished`, and is renamed after it was
synced. The folder is opened once and its entries are named relative to its descriptor, which is safe for root.
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
    """Gives `path` this content, mode and owner, whatever the umask is. Text is written as UTF-8."""
    with open_atomically(path, mode, owner, is_synced) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(
    path: Path, mode: int = 0o600, owner: Owner = (-1, -1), is_synced: bool = True
) -> Iterator[BinaryIO]:
    """Yields a new file that replaces `path` when the block ends. If the block raises, nothing changes.

    Without a sync readers still see complete files, but a power failure may lose the content. That is for files that
    are written often.
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
