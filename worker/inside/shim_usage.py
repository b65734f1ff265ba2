"""Measures what a run uses: CPU seconds, memory and how long its units worked; sums it over the ranks of a gang.

A shim sees what runs on its own node, so where all ranks run there it measures them itself. Each rank of a gang on
several nodes writes its own usage, and the shim and the scheduler sum what was written. No sibling is imported: the
services import this module from the package, the shim from a flat folder.
"""

import json
import os
import resource
import time
from typing import Any, Callable, Collection, Dict, Iterable, Optional, Set

TELEMETRY_FRESH_SECONDS = 15.0
"""Seconds after which telemetry is too old. A node's agent measures its GPUs every few seconds."""
MOST_TELEMETRY = 256 * 1024
WRITE_SECONDS = 10.0
RANK_USAGE_FIELDS = ("cpu_seconds", "rss_bytes", "max_rss_bytes", "average_rss_bytes")
LARGEST_NUMBER = float(2**48)
"""The largest accepted value in bytes or seconds. The sum over all ranks still fits into the database."""
UsageNumbers = Dict[str, Any]


class UsageMeter:
    """`units` are those of the job, `gpus` the UUIDs of its GPUs, and `telemetry` the file that the agent writes."""

    def __init__(self, plan: Dict[str, Any]) -> None:
        self.units = int(plan.get("units") or 1)
        self.gpus: Set[str] = set(plan.get("gpus") or ())
        self.telemetry: Optional[str] = plan.get("telemetry")
        self.began = self.measured = time.monotonic()
        self.cpu_seconds = 0.0
        self.rss_bytes = self.max_rss_bytes = 0
        self.byte_seconds = self.weighed_seconds = 0.0
        self.gpu_seconds: Optional[float] = None

    def measure(self, living: Iterable[Any], reaped_cpu_seconds: float) -> None:
        now = time.monotonic()
        passed, self.measured = now - self.measured, now
        self.rss_bytes = sum(process.rss_bytes for process in living)
        self.max_rss_bytes = max(self.max_rss_bytes, self.rss_bytes)
        self.byte_seconds += self.rss_bytes * passed
        self.weighed_seconds += passed
        self.cpu_seconds = reaped_cpu_seconds + sum(process.cpu_seconds for process in living)
        busy = read_gpu_work(self.telemetry, self.gpus) if self.gpus and self.telemetry else None
        if busy is not None:
            self.gpu_seconds = (self.gpu_seconds or 0.0) + busy * passed

    def finish(self, reaped_cpu_seconds: float, biggest_reaped_bytes: int) -> None:
        """Adds what ended before it could be measured. Call it once no process is alive."""
        self.cpu_seconds = max(self.cpu_seconds, reaped_cpu_seconds)
        self.max_rss_bytes = max(self.max_rss_bytes, biggest_reaped_bytes)

    def to_json(self) -> UsageNumbers:
        """The values under the names of usage.json and exit.json."""
        return {
            "cpu_seconds": round(self.cpu_seconds, 2),
            "max_rss_bytes": self.max_rss_bytes,
            "average_rss_bytes": int(min(self.mean_rss_bytes(), self.max_rss_bytes)),
            "unit_seconds_used": self.unit_seconds_used(),
        }

    def mean_rss_bytes(self) -> float:
        """A run that was shorter than one measurement has its peak as its mean."""
        return self.byte_seconds / self.weighed_seconds if self.byte_seconds else self.max_rss_bytes

    def unit_seconds_used(self) -> Optional[float]:
        """The seconds that the units worked: by GPU utilisation, or by CPU time on slots, at most the units' own time.
        None if no GPU was measured.
        """
        if self.gpus:
            return None if self.gpu_seconds is None else round(self.gpu_seconds, 2)
        return round(min(self.cpu_seconds, self.units * (time.monotonic() - self.began)), 2)


def read_gpu_work(path: str, gpus: Collection[str]) -> Optional[float]:
    """How many of these GPUs are busy now, as a sum of shares. None without a recent measurement."""
    try:
        with open(path, "rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime > TELEMETRY_FRESH_SECONDS:
                return None
            found = json.loads(file.read(MOST_TELEMETRY).decode())
        shares = [gpu["utilisation"] for gpu in found["gpus"] if gpu["uuid"] in gpus]
        busy: float = sum(min(max(share, 0), 100) for share in shares if share is not None) / 100.0
        return busy
    except (OSError, ValueError, KeyError, TypeError):
        return None


def reaped_cpu_seconds() -> float:
    """The CPU seconds of every descendant that has been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reaped_max_rss_bytes() -> int:
    """Bytes of the largest single process, as a lower bound for programs that end before they are measured."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def rank_usage_file(rank: int) -> str:
    """The name of the rank's file beside its log."""
    return "rank-%d.use.json" % rank


def sum_rank_usage(read: Callable[[str], Optional[UsageNumbers]], ranks: int) -> Optional[UsageNumbers]:
    """None if no rank has written usage. `read` returns the object in a file of that name, or None.

    The peaks of the ranks are added, so the result is at least what was used at one time.
    """
    found = [parse_rank_usage(read(rank_usage_file(rank))) for rank in range(ranks)]
    told = [each for each in found if each]
    return {part: sum(each[part] for each in told) for part in RANK_USAGE_FIELDS} if told else None


def parse_rank_usage(told: Optional[UsageNumbers]) -> Optional[UsageNumbers]:
    """The numbers that a rank wrote. The program could have written the file, so one with a wrong value counts as
    missing.
    """
    told = told or {}
    if not all(
        type(told.get(part)) in (int, float) and 0 <= told[part] <= LARGEST_NUMBER
        for part in RANK_USAGE_FIELDS
    ):
        return None
    return dict({part: int(told[part]) for part in RANK_USAGE_FIELDS}, cpu_seconds=float(told["cpu_seconds"]))


class RankUsage:
    """The usage that a rank's wrapper measures at each check, and writes regularly and at the end.

    `list_living` is shim_process_tree.living_descendants, `write_json` shim_files.write_json_atomically.
    """

    def __init__(
        self,
        out: str,
        rank: int,
        list_living: Callable[[int], Iterable[Any]],
        write_json: Callable[[str, UsageNumbers], object],
    ) -> None:
        self.list_living, self.write_json = list_living, write_json
        self.path = os.path.join(out, rank_usage_file(rank))
        self.usage = UsageMeter({})
        self.told_at = 0.0

    def measure(self) -> None:
        """Measures and writes. A failed measurement must not end the rank."""
        try:
            living = self.list_living(os.getpid())
        except OSError:
            return
        self.usage.measure(living, reaped_cpu_seconds())
        if time.monotonic() - self.told_at >= WRITE_SECONDS:
            self.write_usage()

    def finish(self) -> None:
        self.usage.finish(reaped_cpu_seconds(), reaped_max_rss_bytes())
        self.usage.rss_bytes = 0
        self.write_usage()

    def write_usage(self) -> None:
        self.told_at = time.monotonic()
        told = dict(self.usage.to_json(), rss_bytes=self.usage.rss_bytes)
        try:
            self.write_json(self.path, {part: told[part] for part in RANK_USAGE_FIELDS})
        except OSError:
            pass  # The storage is away or full. The next call tries again.


class GangUsageMeter(UsageMeter):
    """The sum over the ranks, measured in the shim. Some ranks may run longer than the shim.

    `read_json` is shim_files.read_untrusted_json.
    """

    def __init__(self, plan: Dict[str, Any], read_json: Callable[[str, str], Optional[UsageNumbers]]) -> None:
        UsageMeter.__init__(self, plan)
        self.read_json = read_json
        self.out, self.ranks = plan["out"], int(plan.get("ranks") or 1)
        self.sums: Optional[UsageNumbers] = None
        self.read_at = 0.0

    def measure(self, living: Iterable[Any], reaped_cpu_seconds: float) -> None:
        if time.monotonic() - self.read_at >= WRITE_SECONDS:
            self.read_rank_usage()

    def finish(self, reaped_cpu_seconds: float, biggest_reaped_bytes: int) -> None:
        self.read_rank_usage()

    def read_rank_usage(self) -> None:
        self.read_at = time.monotonic()
        self.sums = sum_rank_usage(lambda name: self.read_json(self.out, name), self.ranks)
        for part, value in (self.sums or {}).items():
            setattr(self, part, value)

    def mean_rss_bytes(self) -> float:
        mean: float = (self.sums or {})["average_rss_bytes"]
        return mean

    def to_json(self) -> UsageNumbers:
        """Empty while no rank has written usage, so that it does not count as zero."""
        names = ("cpu_seconds", "max_rss_bytes", "average_rss_bytes", "unit_seconds_used")
        return UsageMeter.to_json(self) if self.sums else dict.fromkeys(names)
