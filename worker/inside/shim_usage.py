"""Measures what a run uses: CPU seconds, memory and how long its units worked; sums it over the ranks of a gang."""

import json
import os
import time

TELEMETRY_FRESH_SECONDS = 15.0
"""A node's agent measures its GPUs every few seconds; what is older says nothing about now."""
MOST_TELEMETRY = 256 * 1024


class UsageMeter:
    """`units` are those of the job; `gpus` the UUIDs among them, `telemetry` where the agent writes."""

    def __init__(self, plan):
        self.units = int(plan.get("units") or 1)
        self.gpus = set(plan.get("gpus") or ())
        self.telemetry = plan.get("telemetry")
        self.began = self.measured = time.monotonic()
        self.cpu_seconds = 0.0
        self.rss_bytes = self.max_rss_bytes = 0
        self.byte_seconds = self.weighed_seconds = 0.0
        self.gpu_seconds = None

    def measure(self, living, reaped_cpu_seconds):
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

    def finish(self, reaped_cpu_seconds, biggest_reaped_bytes):
        """Once nothing lives: also what ended before it could be measured counts."""
        self.cpu_seconds = max(self.cpu_seconds, reaped_cpu_seconds)
        self.max_rss_bytes = max(self.max_rss_bytes, biggest_reaped_bytes)

    def to_json(self):
        """In the words of usage.json and exit.json."""
        return {
            "cpu_seconds": round(self.cpu_seconds, 2),
            "max_rss_bytes": self.max_rss_bytes,
            "average_rss_bytes": int(min(self.mean_rss_bytes(), self.max_rss_bytes)),
            "unit_seconds_used": self.unit_seconds_used(),
        }

    def mean_rss_bytes(self):
        """A run shorter than a measurement has its peak as mean."""
        return self.byte_seconds / self.weighed_seconds if self.byte_seconds else self.max_rss_bytes

    def unit_seconds_used(self):
        """By GPU utilisation, or CPU time on slots, which may lend what others leave; None: nobody measured."""
        if self.gpus:
            return None if self.gpu_seconds is None else round(self.gpu_seconds, 2)
        return round(min(self.cpu_seconds, self.units * (time.monotonic() - self.began)), 2)


def read_gpu_work(path, gpus):
    """How many of these GPUs' worth of work is done right now; None where nothing fresh says so."""
    try:
        with open(path, "rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime > TELEMETRY_FRESH_SECONDS:
                return None
            found = json.loads(file.read(MOST_TELEMETRY).decode())
        shares = [gpu["utilisation"] for gpu in found["gpus"] if gpu["uuid"] in gpus]
        return sum(min(max(share, 0), 100) for share in shares if share is not None) / 100.0
    except (OSError, ValueError, KeyError, TypeError):
        return None
