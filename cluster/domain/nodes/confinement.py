"""List what a node does not enforce of a job's confinement, from what its shim could set up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GAP_CODES = {
    "memory": "confinement.no_memory",
    "processes": "confinement.no_processes",
    "devices": "confinement.no_devices",
    "tmp": "confinement.no_tmp",
    "system": "confinement.no_system",
    "processes_hidden": "confinement.no_processes_hidden",
    "storage_hidden": "confinement.no_storage_hidden",
    "metadata_address": "confinement.no_metadata_address",
}
"""Power that confines jobs, named as in `worker/inside/shim_confinement.py` → the code that says what its lack means.
"""
CGROUP_STOPS = ("cgroup-v1", "cgroup-v2")


@dataclass(frozen=True)
class ConfinementGap:
    """One restriction that is not enforced. `code` has a sentence and a hint that says what would help."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


def list_confinement_gaps(powers: Mapping[str, Any]) -> tuple[ConfinementGap, ...]:
    """Lists the gaps; empty if everything is enforced. Features that nobody reported count as not enforced."""
    if "failed" in powers:
        return (ConfinementGap("confinement.unknown", {"why": str(powers["failed"])}),)
    stop = () if powers.get("stop") in CGROUP_STOPS else (ConfinementGap("confinement.no_stop"),)
    if not powers.get("root"):
        return (ConfinementGap("confinement.without_root"), *stop)
    refused = powers.get("refused") or {}
    missing = [power for power in GAP_CODES if powers.get(power) is not True]
    return stop + tuple(
        ConfinementGap(GAP_CODES[power], {"why": str(refused.get(power, "–"))}) for power in missing
    )
