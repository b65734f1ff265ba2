"""Follows out/metrics.jsonl: the lowest, highest and last value of each metric, and the milestones of progress.

The file was written by an untrusted program: no link is followed, and only plain numbers under plain names count.
"""

import json
import os
import re
import stat
from typing import Any, Dict, List, Optional

FILE = "metrics.jsonl"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./ -]{0,99}\Z")
MOST_NAMES = 64
CHUNK_BYTES = 1024 * 1024
LARGEST_FILE = 32 * CHUNK_BYTES
"""The job's page reads no more of the file either, so that both show the same rows."""
LONGEST_LINE = 64 * 1024
EPOCHS = "epochs"
"""The name of the metric by which a program says how many epochs it will train."""
MOST_MILESTONES = 32


class MetricResults:
    """`by_name` is {metric: [lowest, highest, last]}; `not_finite` is the name of the first loss that was NaN.

    `objective` is the metric that the program named as what it is trained for: {"metric": …, "lower_is_better": …}.
    """

    def __init__(self) -> None:
        self.by_name: Dict[str, List[float]] = {}
        self.not_finite: Optional[str] = None
        self.objective: Optional[Dict[str, object]] = None
        self.progress = MilestoneRecorder()
        self.read_bytes = 0

    def read_more(self, out: str) -> bool:
        """Takes in the complete lines of the next piece. Returns whether there may be more."""
        piece = read_metrics_chunk(out, self.read_bytes)
        end = piece.rfind(b"\n") + 1
        if not end:
            # No valid row is that long, so its beginning is skipped.
            self.read_bytes += len(piece) if len(piece) > LONGEST_LINE else 0
            return len(piece) > LONGEST_LINE
        for line in piece[:end].splitlines():
            if len(line) <= LONGEST_LINE:
                self.add_line(line)
        self.read_bytes += end
        return len(piece) == CHUNK_BYTES

    def add_line(self, line: bytes) -> None:
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError):
            return
        if not isinstance(row, dict):
            return
        self.note_objective(row.get("objective"))
        scalars = row.get("scalars")
        if not isinstance(scalars, dict):
            return
        self.progress.add_row(
            as_float_or_none(row.get("epoch")),
            as_float_or_none(row.get("time")),
            as_float_or_none(scalars.get(EPOCHS)),
        )
        said = row.get("not_finite")
        for name, value in scalars.items():
            if not NAME.match(name):
                continue
            if is_finite_number(value):
                self.add_value(name, float(value))
            elif isinstance(value, float) or (isinstance(said, list) and name in said):
                # JSON has no NaN: groundcrew_job writes null and lists the name, other programs write NaN.
                self.note_not_finite(name)

    def add_value(self, name: str, value: float) -> None:
        known = self.by_name.get(name)
        if known is not None:
            known[:] = [min(known[0], value), max(known[1], value), value]
        elif len(self.by_name) < MOST_NAMES:
            self.by_name[name] = [value, value, value]

    def note_objective(self, objective: Any) -> None:
        metric = objective.get("metric") if isinstance(objective, dict) else None
        if isinstance(metric, str) and NAME.match(metric):
            self.objective = {"metric": metric, "lower_is_better": objective.get("lower_is_better") is True}

    def note_not_finite(self, name: str) -> None:
        """Records the name if it is a loss. Other metrics may be not finite for a while in a healthy training."""
        if is_loss(name):
            self.not_finite = self.not_finite or name


def is_loss(name: str) -> bool:
    """Whether `loss` is a word of the name, as cluster/domain/jobs/divergence.py decides."""
    return "loss" in re.split("[/_. -]", name.lower())


class MilestoneRecorder:
    """Records the times at which epochs were finished, reduced to a few milestones."""

    def __init__(self) -> None:
        self.epochs: Optional[float] = None
        self.marks: List[List[float]] = []
        self.newest: Optional[List[float]] = None
        self.every = 1
        self.rows = 0

    def add_row(self, epoch: Optional[float], time: Optional[float], epochs: Optional[float]) -> None:
        """Adds the values of one row; None for a missing value. An epoch that was finished before adds nothing."""
        self.epochs = self.epochs if epochs is None else epochs
        if epoch is None or time is None:
            return
        if self.newest and (epoch <= self.newest[0] or time < self.newest[1]):
            return
        self.newest = [epoch, time]
        if self.rows % self.every == 0:
            self.marks.append(self.newest)
        self.rows += 1
        if len(self.marks) > MOST_MILESTONES:
            del self.marks[1::2]
            self.every *= 2

    def to_json(self) -> Optional[Dict[str, object]]:
        """{"epochs": total or None, "marks": [[finished epochs, Unix time], …]}. None before the first mark."""
        if self.newest is None:
            return None
        last = [] if self.marks[-1] is self.newest else [self.newest]
        return {"epochs": self.epochs, "marks": self.marks + last}


def is_finite_number(value: Any) -> bool:
    """Whether the value is a finite number that float() can convert; an integer of hundreds of digits is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def as_float_or_none(value: Any) -> Optional[float]:
    return float(value) if is_finite_number(value) else None


def read_metrics_chunk(out: str, offset: int) -> bytes:
    """Reads at most one piece from `offset`. Empty if there is no such regular file or it is shorter."""
    size = min(CHUNK_BYTES, LARGEST_FILE - offset)
    if size <= 0:
        return b""
    try:
        folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(FILE, flags, dir_fd=folder)
    except OSError:
        return b""
    finally:
        os.close(folder)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
            return b""
        return os.pread(descriptor, size, offset)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
