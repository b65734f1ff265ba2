"""Parses node ids separated by commas out of a query or a form."""

from cluster.store.base import LARGEST_ID


def parse_node_ids(text: str) -> list[int]:
    """Parse ids separated by commas; anything that is not an id becomes 0, which no node has."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return [parse_node_id(word) for word in words]


def parse_node_id(word: str) -> int:
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 12 else 0
    return number if number <= LARGEST_ID else 0
