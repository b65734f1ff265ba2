"""Map the UUIDs of a node's GPUs to the minor numbers of their device files, from the facts that its agent reported."""

from collections.abc import Collection, Mapping
from typing import Any

MINORS_FACT = "gpu_minors"
"""The fact's name: {UUID: number in the name of the device file}."""
MAX_MINORS = 2**20
"""Linux keeps 20 bits for the minor number of a device."""


def gpu_minors_of(facts: Mapping[str, Any], uuids: Collection[str]) -> dict[str, int]:
    """Returns GPU uuid → minor number, without GPUs for which the node reported no valid number."""
    found = facts.get(MINORS_FACT)
    if not isinstance(found, Mapping):
        return {}
    return {uuid: found[uuid] for uuid in uuids if is_minor(found.get(uuid))}


def is_minor(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_MINORS
