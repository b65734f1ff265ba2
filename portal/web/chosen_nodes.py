"""Which nodes an address or a form names."""

from cluster.store.base import LARGEST_ID


def parse_node_ids(text: str) -> list[int]:
    """From ids with commas between them; what is no id is node 0, which nobody has."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return [parse_node_id(word) for word in words]


def parse_node_id(word: str) -> int:
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 12 else 0
    return number if number <= LARGEST_ID else 0
