"""Rows that many tests begin with are written once in each process; each test gets a copy of file and objects."""

import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from cluster.services.context import Cluster
from tests.conftest import sqlite_cluster

Rows = TypeVar("Rows")


@dataclass(frozen=True)
class FrozenRows(Generic[Rows]):
    content: bytes
    """The file of the database."""
    pickled: bytes

    def put_into(self, cluster: Cluster) -> Rows:
        """Replaces all rows of a cluster that nobody has asked anything yet."""
        Path(cluster.store.url.database or "").write_bytes(self.content)
        rows: Rows = pickle.loads(self.pickled)
        return rows


def freeze_rows(migrated_file: Path, make: Callable[[Cluster], Rows]) -> FrozenRows[Rows]:
    with tempfile.TemporaryDirectory(prefix="gc-rows-") as folder:
        with sqlite_cluster(Path(folder), migrated_file) as cluster:
            pickled = pickle.dumps(make(cluster))
        # The last connection is closed: nothing is left beside the file.
        return FrozenRows((Path(folder) / "groundcrew.db").read_bytes(), pickled)
