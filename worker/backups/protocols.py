"""The protocols that SQLite and PostgreSQL implement for dumps, drills and restores."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from worker.backups.database_contents import DatabaseSummary


@dataclass(frozen=True)
class DatabaseDump:
    """`pieces` are the text of exactly what `summary` counts; they can be read once."""

    summary: DatabaseSummary
    pieces: Iterable[bytes]


class ScratchDatabase(Protocol):
    """An empty database of its own, gone afterwards; `url` is for whoever looks at what was restored."""

    url: str

    def load(self, text: IO[bytes]) -> None:
        """Reads the text back. Raises BackupBroken where it cannot."""

    def check_integrity(self) -> None:
        """What the kind itself can say about damage. Raises BackupBroken."""


class BackupDatabase(Protocol):
    """The installation's own; `kind` stands in the manifests of its backups."""

    kind: str

    def size(self) -> int:
        """Bytes that it has on its disk."""

    def open_dump(self) -> AbstractContextManager[DatabaseDump]:
        """Writers wait for nothing while it is open. Raises Unavailable, also at its end."""

    def scratch(self, is_to_stay: bool = False) -> AbstractContextManager[ScratchDatabase]:
        """`is_to_stay`: what is read back there takes the database's place afterwards. Raises Unavailable."""

    def keeps_replaced_data(self) -> bool:
        """Whether `replace_with` loses nothing of what is there; else it is to be written out before."""

    def check_unused(self) -> None:
        """Raises Refused where services still use it, as far as the database itself can tell."""

    def replace_with(self, scratch: Any, aside: str) -> Path | None:
        """What the scratch holds takes this database's place, at once or not at all.

        The path of the copy of what was there, named `pre_restore_copy…`; None if nothing was there.
        Raises Unavailable.
        """

    def delete_unfinished(self) -> None:
        """Whatever a killed backup or drill has left in this kind's places; the caller is alone."""
