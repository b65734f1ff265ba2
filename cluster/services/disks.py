"""How full a disk is, counted the same way wherever it is said."""

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Disk:
    """Bytes. What the file system keeps for root or denies us counts as neither, as in `df`."""

    used: int
    free: int

    @property
    def whole(self) -> int:
        return self.used + self.free

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.used / self.whole if self.whole else 1.0


def disk_of(folder: Path) -> Disk:
    """Of the file system that holds this folder. Raises OSError."""
    found = shutil.disk_usage(folder)
    return Disk(found.used, found.free)
