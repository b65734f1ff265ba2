"""Named places where a test makes a process die as `kill -9` would: `GC_CRASH=placed:2` is the second time.

Around every commit and every call to something outside; without the variable they do nothing.
"""

import os
import signal
from collections import Counter

VARIABLE = "GC_CRASH"
passed: Counter[str] = Counter()


def reach(point: str) -> None:
    """`any` counts every point, so that a test can kill at the n-th of all for every n."""
    wanted, _, number = os.environ.get(VARIABLE, "").partition(":")
    if not wanted:
        return
    passed.update((point, "any"))
    if wanted in (point, "any") and passed[wanted] == int(number or 1):
        os.kill(os.getpid(), signal.SIGKILL)
