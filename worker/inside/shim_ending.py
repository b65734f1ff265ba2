"""(merged) Ends a process tree in three stages: programs get SIGTERM, then everything gets it, then SIGKILL."""

import os
import signal
import time

import shim_tree

GRACE_SECONDS = 5.0
"""Between the polite signal and the other one; the whole tree is gone within 10 s of a stop."""
LONGEST_CHECKPOINT_GRACE = 60.0
"""What a program gets of its own grace time to save a checkpoint when the services stop."""


class TreeEnding:
    """Launchers end their ranks within seconds of a signal, so they hear of it only in the second half.

    In the first half each rank's program can save a checkpoint and leave by itself.
    """

    def __init__(self, why, grace=GRACE_SECONDS, group=None, reap=lambda: None):
        """`group` holds all that is to be ended (shim_cgroup.Group); without one it is looked for below this process.

        `reap` takes away who has ended.
        """
        self.reap = reap
        self.why = why
        self.group = group
        self.grace = grace
        self.since = time.monotonic()
        self.has_signalled_programs = self.has_signalled_all = False

    def shorten(self, grace):
        """At most so many seconds from now on; 0: no more grace at all."""
        self.grace = min(self.grace, time.monotonic() - self.since + grace)

    def advance(self):
        """The processes that still live; call it again and again until there are none."""
        living = shim_tree.living_descendants(os.getpid())
        waited = time.monotonic() - self.since
        wrappers = [] if self.has_signalled_all else [one.pid for one in living if shim_tree.is_rank_wrapper(one.pid)]
        if not self.has_signalled_programs:
            shim_tree.signal_pids(wrappers or [one.pid for one in living], signal.SIGTERM)
            self.has_signalled_programs, self.has_signalled_all = True, not wrappers
        elif waited >= self.grace:
            if self.group:
                self.group.end()
            # Also what was never in the group: it is empty, and so is this tree, or the next call goes on.
            shim_tree.kill_descendants(os.getpid(), self.reap)
        elif not self.has_signalled_all and (waited >= self.grace / 2 or not wrappers):
            # A program that is asked twice could be interrupted while it saves.
            others = [one.pid for one in living if one.pid not in wrappers and one.parent not in wrappers]
            shim_tree.signal_pids(others, signal.SIGTERM)
            self.has_signalled_all = True
        return living
