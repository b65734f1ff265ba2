"""The load of a node's GPUs, as its agent last measured it and wrote it into the node's facts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOAD_FACT = "gpu_load"
"""The fact of a node's agent: the load of each GPU by its UUID."""


@dataclass(frozen=True)
class GpuLoad:
    """Utilisation is a share, memory in bytes, temperature in °C, power in watts. None: the GPU does not report it."""

    utilisation: float | None = None
    memory_used_bytes: int | None = None
    temperature: float | None = None
    power: float | None = None


def describe_gpu_load(
    percent: int | None, memory: int | None, degrees: int | None, watts: float | None
) -> dict[str, Any]:
    """The entry of one GPU in the fact."""
    return {"percent": percent, "memory_used_bytes": memory, "temperature": degrees, "power": watts}


def parse_gpu_loads(facts: Mapping[str, Any]) -> dict[str, GpuLoad]:
    """The loads by UUID. An agent may have written anything, so values that are no sensible numbers are left out."""
    written = facts.get(LOAD_FACT)
    entries = written.items() if isinstance(written, dict) else ()
    loads = {identity: parse_gpu_load(entry) for identity, entry in entries if isinstance(entry, dict)}
    return {identity: load for identity, load in loads.items() if load != GpuLoad()}


def parse_gpu_load(entry: Mapping[str, Any]) -> GpuLoad:
    percent, memory = (
        number_between(entry.get("percent"), 100),
        number_between(entry.get("memory_used_bytes"), 2**60),
    )
    return GpuLoad(
        None if percent is None else percent / 100,
        None if memory is None else int(memory),
        number_between(entry.get("temperature"), 1000),
        number_between(entry.get("power"), 100_000),
    )


def number_between(value: object, most: float) -> float | None:
    """The value if it is a number from 0 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None
