"""Resident memory of the services, read from /proc."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
LOOK_SECONDS = 0.5


def resident(pids: Mapping[str, int]) -> dict[str, int]:
    """Bytes of the largest process of each service: its own, or one that it has started."""
    sizes, children = look()

    def largest(pid: int) -> int:
        return max([sizes.get(pid, 0), *map(largest, children[pid])])

    return {name: largest(pid) for name, pid in pids.items()}


def look() -> tuple[dict[int, int], defaultdict[int, list[int]]]:
    """Resident bytes and children by process, in one pass: the looking must not be what is measured."""
    sizes: dict[int, int] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children[int(fields[1])].append(int(entry.name))
            sizes[int(entry.name)] = int(fields[21]) * PAGE
    return sizes, children


async def peak_of(pids: Mapping[str, int], peak: dict[str, int]) -> None:
    """Notes into `peak` the most that each service had, until it is cancelled."""
    while True:
        for name, size in resident(pids).items():
            peak[name] = max(peak.get(name, 0), size)
        await asyncio.sleep(LOOK_SECONDS)
