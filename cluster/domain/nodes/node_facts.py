"""The conclusions from the facts that a node's agent reports."""

from collections.abc import Mapping
from typing import Any

LARGEST_DISK = 2**63
"""Bytes. A larger number cannot be the size of a disk."""


def disk_used_share(facts: Mapping[str, Any]) -> float | None:
    """The used share of the node's disk, 0 to 1; None if the agent reported no possible values."""
    whole, free = facts.get("disk_bytes"), facts.get("disk_free_bytes")
    if not isinstance(whole, int | float) or not isinstance(free, int | float):
        return None
    if not 0 <= free <= whole <= LARGEST_DISK or whole == 0:
        return None
    return 1 - free / whole
