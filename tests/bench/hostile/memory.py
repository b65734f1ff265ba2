"""Resident memory of the services, read from /proc."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import psutil

PAGE = os.sysconf("SC_PAGE_SIZE")
LOOK_SECONDS = 0.25


def resident(pids: Mapping[str, int]) -> dict[str, int]:
    """Bytes of the largest process of each service: its own, or one that it has started."""
    return {name: max([0, *map(resident_of, family_of(pid))]) for name, pid in pids.items()}


def family_of(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def resident_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


async def peak_of(pids: Mapping[str, int], peak: dict[str, int]) -> None:
    """Notes into `peak` the most that each service had, until it is cancelled."""
    while True:
        for name, size in resident(pids).items():
            peak[name] = max(peak.get(name, 0), size)
        await asyncio.sleep(LOOK_SECONDS)
