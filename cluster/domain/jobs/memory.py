"""Compute the memory limit of a job from its share of a node's units; parse and print sizes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from cluster.domain.errors import Refused
from cluster.domain.states import UnitKind

SHARE_FOR_JOBS = 0.9
"""The share of a node's memory for jobs. The rest is for its services."""
MIN_BYTES = 256 * 1024**2
MAX_BYTES = 1024**5
"""The limit while no node has reported its memory."""
SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?) *(B|KiB|MiB|GiB|TiB|)")
SIZE_UNITS = {"TiB": 1024**4, "GiB": 1024**3, "MiB": 1024**2, "KiB": 1024, "B": 1}


@dataclass(frozen=True)
class NodeMemory:
    """`units` is the number of the node's units, `memory_bytes` all of its memory."""

    units: int
    memory_bytes: int

    @property
    def for_jobs(self) -> int:
        return int(self.memory_bytes * SHARE_FOR_JOBS)

    def share(self, units: int) -> int:
        """The share of the memory that corresponds to so many units."""
        return self.most_bytes_for(units, 100)

    def most_bytes_for(self, units: int, overcommit: int = 100) -> int:
        """The most that a job on so many units may request: `overcommit` percent of their share, but never more than
        the node has.
        """
        part = min(units / self.units, 1.0) * overcommit / 100
        return int(self.memory_bytes * min(part, 1.0) * SHARE_FOR_JOBS)


def check_memory(
    memory_bytes: int, units: int, kind: UnitKind, nodes: Iterable[NodeMemory], overcommit: int = 100
) -> int:
    """Checks against the node that gives these units the least memory, because placement ignores memory. Raises
    Refused.

    On `nodes` with fewer units the job runs in parts, each with its part of the memory.
    """
    if memory_bytes < MIN_BYTES:
        raise Refused("memory_bytes", "job.memory_too_little", least=MIN_BYTES)
    nodes = list(nodes)
    largest = max((node.for_jobs for node in nodes), default=MAX_BYTES)
    wide = [node for node in nodes if node.units >= units]
    if (wide or not nodes) and memory_bytes > largest:
        raise Refused("memory_bytes", "job.memory_over_node", most=round_down_size(largest))
    most = min(
        node.most_bytes_for(units, overcommit)
        if node.units >= units
        else node.most_bytes_for(node.units, overcommit) * units // node.units
        for node in wide or nodes or [NodeMemory(units, MAX_BYTES)]
    )
    if memory_bytes > most:
        raise Refused(
            "memory_bytes", "job.memory_over_share", most=round_down_size(most), units=units, kind=kind.value
        )
    return memory_bytes


def memory_limit_of(node: NodeMemory, units: int, asked: int | None, overcommit: int = 100) -> int:
    """The limit of what runs on `units` of the node. `asked` is for these units; None: their share."""
    return node.share(units) if asked is None else min(asked, node.most_bytes_for(units, overcommit))


def round_down_size(size: int) -> int:
    """Rounds down to the digits that a sentence shows, so that a person who types the shown number is not refused
    again.
    """
    unit = next((unit for unit in SIZE_UNITS.values() if size >= unit), 1)
    tenths = 10 if size >= 100 * unit or unit == 1 else 1
    # One byte is added because a share was rounded down to whole bytes.
    return min(size, (size + 1) * 10 // (unit * tenths) * unit * tenths // 10)


def parse_size(text: str) -> int | None:
    """Parses `12GiB`, `1.5 TiB` or `800 MiB`. A number without unit is in GiB. Returns None for any other text."""
    match = SIZE.fullmatch(text.strip())
    return int(Decimal(match[1]) * SIZE_UNITS[match[2] or "GiB"]) if match else None


def format_exact_size(size: int) -> str:
    """The text from which `parse_size` gets exactly this size."""
    for name, unit in SIZE_UNITS.items():
        for digits in range(4):
            text = f"{size / unit:.{digits}f} {name}"
            if size >= unit and parse_size(text) == size:
                return text
    return f"{size} B"
