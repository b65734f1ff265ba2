"""Make the database of full size and say what is in it.

python -m tests.bench.full_size [--nodes 4] [--copy FILE]
"""

import argparse
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tests.bench.full_size.database_file import full_size_file
from tests.bench.full_size.sizes import FULL

TABLES = (
    *("users", "workspaces", "trainings", "nodes", "units", "jobs", "attempts", "allocations"),
    *("job_events", "operations", "audit_entries", "audit_seals"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.full_size", description=__doc__)
    parser.add_argument("--nodes", type=int, default=FULL.nodes)
    parser.add_argument("--copy", type=Path, help="write a copy of the file there")
    asked = parser.parse_args(arguments)
    begun = time.monotonic()
    with full_size_file(replace(FULL, nodes=asked.nodes)) as path:
        print(f"{path}: {path.stat().st_size / 1e6:.0f} MB, {time.monotonic() - begun:.1f} s")
        with closing(sqlite3.connect(path)) as connection:
            for table in TABLES:
                print(f"{connection.execute(f'SELECT count(*) FROM {table}').fetchone()[0]:>10,} {table}")
        if asked.copy:
            shutil.copyfile(path, asked.copy)


if __name__ == "__main__":
    main()
