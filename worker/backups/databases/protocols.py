"""The protocols that SQLite and PostgreSQL implement for dumps, drills and restores."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from worker.backups.database_contents import DatabaseSummary


@dataclass(frozen=True)
class DatabaseDump:
    """`pieces` are the text of exactly the rows that `summary` counts. They can be read once."""

    summary: DatabaseSummary
    pieces: Iterable[bytes]


class ScratchDatabase(Protocol):
    """An empty database that is deleted afterwards. `url` is for checks of the restored contents."""

    url: str

    def load(self, text: IO[bytes]) -> None:
        """Loads the text. Raises BackupBroken if that fails."""

    def check_integrity(self) -> None:
        """Runs the integrity checks of this kind of database. Raises BackupBroken."""


class BackupDatabase(Protocol):
    """The installation's own database. `kind` is stored in the manifests of its backups."""

    kind: str

    def size(self) -> int:
        """The bytes that it takes on its disk."""

    def open_dump(self) -> AbstractContextManager[DatabaseDump]:
        """Writers are not delayed while it is open. Raises Unavailable, also at its end."""

    def scratch(self, is_to_stay: bool = False) -> AbstractContextManager[ScratchDatabase]:
        """`is_to_stay`: the scratch database will take the database's place. Raises Unavailable."""

    def keeps_replaced_data(self) -> bool:
        """Whether `replace_with` keeps the replaced data. If not, the caller writes them as a backup before."""

    def check_unused(self) -> None:
        """Raises Refused if services still use it, as far as the database can tell."""

    def replace_with(self, scratch: Any, aside: str) -> Path | None:
        """Replaces this database atomically with the contents of the scratch database.

        Returns the path of the copy of the replaced data, named `pre_restore_copy…`, or None if there were none.
        Raises Unavailable.
        """

    def delete_unfinished(self) -> None:
        """Deletes what killed backups and drills of this kind have left. The caller holds the lock."""
