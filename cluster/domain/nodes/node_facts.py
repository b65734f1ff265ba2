"""What follows from the facts that a node's agent reports."""

from collections.abc import Mapping
from typing import Any


def disk_used_share(facts: Mapping[str, Any]) -> float | None:
    """How full the node's disk is, 0 to 1; None if the agent did not report it."""
    whole, free = facts.get("disk_bytes"), facts.get("disk_free_bytes")
    if not isinstance(whole, int | float) or not isinstance(free, int | float) or whole <= 0:
        return None
    return 1 - free / whole
