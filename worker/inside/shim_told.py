"""What each rank of a gang over several nodes has told of its use, and the sum of it; read by the shim and the scheduler."""

from typing import Any, Callable, Dict, Optional

BY_RANKS = ("cpu_seconds", "rss_bytes", "max_rss_bytes", "average_rss_bytes")
MOST = float(2 ** 48)
"""Bytes or seconds; of all ranks together still a number that the database takes."""
Numbers = Dict[str, Any]


def name_of_rank(rank: int) -> str:
    """Its file, beside its log."""
    return "rank-%d.use.json" % rank


def add_up(read: Callable[[str], Optional[Numbers]], ranks: int) -> Optional[Numbers]:
    """None where nobody told anything. `read` gives the object in a file of that name, or None.

    The peak is that of each rank by itself, so never less than what was used at once.
    """
    found = [parse(read(name_of_rank(rank))) for rank in range(ranks)]
    told = [each for each in found if each]
    return {part: sum(each[part] for each in told) for part in BY_RANKS} if told else None


def parse(told: Optional[Numbers]) -> Optional[Numbers]:
    """A rank's own words are its program's too: what is no number of this kind counts as nothing told."""
    told = told or {}
    if not all(type(told.get(part)) in (int, float) and 0 <= told[part] <= MOST for part in BY_RANKS):
        return None
    return dict({part: int(told[part]) for part in BY_RANKS}, cpu_seconds=float(told["cpu_seconds"]))
