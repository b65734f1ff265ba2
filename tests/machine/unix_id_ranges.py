"""A range of user numbers for each process that runs tests.

What ends a build kills everything that runs as its user: with the same numbers, two processes would kill each other's
programs.
"""

import fcntl
import os
import tempfile
from itertools import count
from pathlib import Path

from cluster.domain.jobs.unix_ids import IDS_PER_INSTALLATION, JobUnixIds

FIRST_BASE = 500_000_000
"""Behind the ranges that clones on the same machine take, and below those of the adversaries' stages."""
CLAIMS = Path(tempfile.gettempdir()) / f"groundcrew-tests-{os.geteuid()}"


def claim_range() -> tuple[JobUnixIds, int]:
    """The first range that no living process has, and the descriptor that holds it until this process ends."""
    CLAIMS.mkdir(mode=0o700, exist_ok=True)
    for number in count():
        descriptor = os.open(CLAIMS / f"unix-ids-{number}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        base = FIRST_BASE + number * IDS_PER_INSTALLATION
        return JobUnixIds(base, base), descriptor
    raise AssertionError("count() has no end")


TEST_IDS, _HELD = claim_range()
