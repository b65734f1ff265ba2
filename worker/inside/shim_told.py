"""(merged) Sums the usage that the ranks of a gang on several nodes have written; used by shim and scheduler."""

from typing import Any, Callable, Dict, Optional

RANK_USAGE_FIELDS = ("cpu_seconds", "rss_bytes", "max_rss_bytes", "average_rss_bytes")
LARGEST_NUMBER = float(2 ** 48)
"""Bytes or seconds; of all ranks together still a number that the database takes."""
UsageNumbers = Dict[str, Any]


def rank_usage_file(rank: int) -> str:
    """Its file, beside its log."""
    return "rank-%d.use.json" % rank


def sum_rank_usage(read: Callable[[str], Optional[UsageNumbers]], ranks: int) -> Optional[UsageNumbers]:
    """None where nobody told anything. `read` gives the object in a file of that name, or None.

    The peak is that of each rank by itself, so never less than what was used at once.
    """
    found = [parse_rank_usage(read(rank_usage_file(rank))) for rank in range(ranks)]
    told = [each for each in found if each]
    return {part: sum(each[part] for each in told) for part in RANK_USAGE_FIELDS} if told else None


def parse_rank_usage(told: Optional[UsageNumbers]) -> Optional[UsageNumbers]:
    """A rank's own words are its program's too: what is no number of this kind counts as nothing told."""
    told = told or {}
    if not all(type(told.get(part)) in (int, float) and 0 <= told[part] <= LARGEST_NUMBER for part in RANK_USAGE_FIELDS):
        return None
    return dict({part: int(told[part]) for part in RANK_USAGE_FIELDS}, cpu_seconds=float(told["cpu_seconds"]))
