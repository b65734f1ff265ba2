"""(merged) Deletes the folders of old playbook runs."""

from collections.abc import Callable
from pathlib import Path

RUNS_TO_KEEP = 200
"""Runs; what the rows say of older ones stays."""


def prune_run_folders(folder: Path, forget: Callable[[Path], None], kept: int = RUNS_TO_KEEP) -> list[str]:
    """Names of the folders that went, the oldest first; a run that has not ended is none of them."""
    ended = [path for path in folder.glob("*/exit.json") if path.parent.name.isdigit()]
    old = sorted(ended, key=lambda path: path.stat().st_mtime)[: -kept or None]
    for path in old:
        forget(path.parent)
    return [path.parent.name for path in old]
