"""The limit of the files that a workspace may store, and what is refused and waits above it."""

from dataclasses import dataclass
from datetime import datetime

from cluster.domain.errors import Refused
from cluster.domain.queue.reasons import WorkspaceStorageFull

SMALLEST_LIMIT = 1024**2
LARGEST_LIMIT = 1024**5
"""1 PiB. A larger number is a slip of the keyboard."""


@dataclass(frozen=True)
class WorkspaceStorage:
    """Bytes. `used` is None until the first measurement, `limit` if there is none."""

    workspace: str
    limit: int | None
    used: int | None
    measured_at: datetime | None

    @property
    def is_full(self) -> bool:
        return self.limit is not None and (self.used or 0) >= self.limit

    @property
    def room(self) -> int | None:
        """Bytes that may still be stored; None without a limit."""
        return None if self.limit is None else max(0, self.limit - (self.used or 0))

    @property
    def used_share(self) -> float | None:
        """A share, 0 to 1 and more. None without a limit or a measurement."""
        return self.used / self.limit if self.limit and self.used is not None else None


def check_storage_room(storage: WorkspaceStorage, field: str, needed: int = 0) -> None:
    """Raises Refused on `field` if the workspace has reached its limit, or if `needed` more bytes would exceed it."""
    used = storage.used or 0
    if storage.limit is None or (used < storage.limit and used + needed <= storage.limit):
        return
    raise Refused(
        field, "storage.over_limit" if needed == 0 or used >= storage.limit else "storage.no_room",
        workspace=storage.workspace, used=used, limit=storage.limit, needed=needed,
    )  # fmt: skip


def storage_reason(storage: WorkspaceStorage) -> WorkspaceStorageFull | None:
    """The reason why no waiting job of the workspace starts."""
    if storage.limit is None or not storage.is_full:
        return None
    return WorkspaceStorageFull(storage.workspace, storage.used or 0, storage.limit)


def check_storage_limit(limit: int | None, field: str = "limit") -> int | None:
    """Returns the limit, where None means no limit. Raises Refused on `field`."""
    if limit is not None and not SMALLEST_LIMIT <= limit <= LARGEST_LIMIT:
        raise Refused(field, "storage.limit_out_of_range", least=SMALLEST_LIMIT, most=LARGEST_LIMIT)
    return limit
