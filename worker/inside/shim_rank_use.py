"""(merged) Each rank of a gang on several nodes writes its own usage, and the shim sums it.

A shim sees what runs on its own node, so where all ranks run there it measures them itself and none tells anything.
"""

import os
import time

import shim_files
import shim_result
import shim_told
import shim_tree
import shim_usage

WRITE_SECONDS = 10.0


class RankUsage:
    """In the rank's wrapper: measured at each look, told now and then, and once more at the end."""

    def __init__(self, out, rank):
        self.path = os.path.join(out, shim_told.rank_usage_file(rank))
        self.usage = shim_usage.UsageMeter({})
        self.told_at = 0.0

    def measure(self):
        """Whatever cannot be measured now must not take the rank along."""
        try:
            living = shim_tree.living_descendants(os.getpid())
        except OSError:
            return
        self.usage.measure(living, shim_result.reaped_cpu_seconds())
        if time.monotonic() - self.told_at >= WRITE_SECONDS:
            self.write_usage()

    def finish(self):
        self.usage.finish(shim_result.reaped_cpu_seconds(), shim_result.reaped_max_rss_bytes())
        self.usage.rss_bytes = 0
        self.write_usage()

    def write_usage(self):
        self.told_at = time.monotonic()
        told = dict(self.usage.to_json(), rss_bytes=self.usage.rss_bytes)
        try:
            shim_files.write_json_atomically(self.path, {part: told[part] for part in shim_told.RANK_USAGE_FIELDS})
        except OSError:
            pass  # The storage is away or full: the next one says as much.


class GangUsageMeter(shim_usage.UsageMeter):
    """In the shim: sums over the ranks, of which some may go on longer than it does."""

    def __init__(self, plan):
        shim_usage.UsageMeter.__init__(self, plan)
        self.out, self.ranks = plan["out"], int(plan.get("ranks") or 1)
        self.sums = None
        self.read_at = 0.0

    def measure(self, living, reaped_cpu_seconds):
        if time.monotonic() - self.read_at >= WRITE_SECONDS:
            self.read_rank_usage()

    def finish(self, reaped_cpu_seconds, biggest_reaped_bytes):
        self.read_rank_usage()

    def read_rank_usage(self):
        self.read_at = time.monotonic()
        self.sums = shim_told.sum_rank_usage(lambda name: shim_files.read_untrusted_json(self.out, name), self.ranks)
        for part, value in (self.sums or {}).items():
            setattr(self, part, value)

    def mean_rss_bytes(self):
        return self.sums["average_rss_bytes"]

    def to_json(self):
        """Nothing where nobody has told anything yet, rather than that nothing was used."""
        names = ("cpu_seconds", "max_rss_bytes", "average_rss_bytes", "unit_seconds_used")
        return shim_usage.UsageMeter.to_json(self) if self.sums else dict.fromkeys(names)
