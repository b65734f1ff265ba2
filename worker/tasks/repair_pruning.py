"""Lets go of the folders of old runs: their transcripts are of use for a while, and each keeps hundreds of files."""

import shutil
from pathlib import Path

from cluster.crash_points import outside

KEPT = 200
"""Runs; what the rows say of older ones stays."""


def prune_runs(folder: Path, kept: int = KEPT) -> list[str]:
    """Names of the folders that went, the oldest first; a run that has not ended is none of them."""
    ended = [path for path in folder.glob("*/exit.json") if path.parent.name.isdigit()]
    old = sorted(ended, key=lambda path: path.stat().st_mtime)[: -kept or None]
    with outside("repairs.prune"):
        for path in old:
            shutil.rmtree(path.parent, ignore_errors=True)
    return [path.parent.name for path in old]
