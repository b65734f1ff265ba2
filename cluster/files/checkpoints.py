"""List the checkpoints of an attempt with the notes that its program wrote beside them."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    list_first_names,
    open_folder_beneath,
    open_plain_file,
)
from cluster.files.untrusted_numbers import finite_or_none, whole_or_none, written_at

FOLDER = "checkpoints"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FOLDER_LIMIT = 4096
NOTE_LIMIT = 64 * 1024


@dataclass(frozen=True)
class CheckpointFile:
    """One file. `size` is in bytes, `scalars` are finite numbers by metric name."""

    name: str
    size: int
    written_at: datetime
    epoch: float | None = None
    step: int | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)


def is_checkpoint_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None and not name.endswith((".json", ".tmp"))


def list_checkpoints(root: Path, *out: str) -> list[CheckpointFile]:
    """The checkpoints, newest epoch first. Only regular files with plain names count."""
    try:
        with open_folder_beneath(root, *out, FOLDER) as folder:
            names = list_first_names(folder, FOLDER_LIMIT)
            found = [read_checkpoint(folder, name) for name in names if is_checkpoint_name(name)]
    except (FileMissing, FileNotPlain):
        return []
    kept = [checkpoint for checkpoint in found if checkpoint is not None]
    return sorted(kept, key=lambda one: (one.epoch is not None, one.epoch or 0, one.name), reverse=True)


def read_checkpoint(folder: int, name: str) -> CheckpointFile | None:
    try:
        with open_plain_file(folder, name) as file:
            status = os.fstat(file.fileno())
    except (FileMissing, FileNotPlain):
        return None
    note = read_checkpoint_note(folder, name)
    scalars = note.get("scalars")
    return CheckpointFile(
        name,
        status.st_size,
        written_at(status),
        finite_or_none(note.get("epoch")),
        whole_or_none(note.get("step")),
        {
            str(key)[:64]: number
            for key, value in (scalars.items() if isinstance(scalars, dict) else ())
            if (number := finite_or_none(value)) is not None
        },
    )


def read_checkpoint_note(folder: int, name: str) -> dict[str, Any]:
    for note in list_note_names(name):
        try:
            with open_plain_file(folder, note) as file:
                text = file.read(NOTE_LIMIT + 1)
            read = json.loads(text) if len(text) <= NOTE_LIMIT else None
        except (FileMissing, FileNotPlain, ValueError, RecursionError):
            continue
        if isinstance(read, dict):
            return read
    return {}


def list_note_names(name: str) -> tuple[str, ...]:
    """The names of the note of `epoch-0001.weights.h5`: `epoch-0001.weights.h5.json` and `epoch-0001.json`."""
    return f"{name}.json", f"{name.split('.')[0]}.json"


def best_checkpoint(
    checkpoints: list[CheckpointFile], metric: str, *, highest: bool
) -> CheckpointFile | None:
    """The checkpoint with the highest (or lowest) value of a metric. Of equal ones it is the earliest."""
    having = [one for one in checkpoints if metric in one.scalars]
    sign = -1 if highest else 1
    return min(having, key=lambda one: (sign * one.scalars[metric], one.epoch or 0), default=None)
