"""Limits how much more memory this process may allocate while it reads untrusted input."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATM = Path("/proc/self/statm")


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """Allows at most `more` bytes of additional address space. Further allocations raise MemoryError.

    A stricter limit that exists already is kept.
    """
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = used_bytes() + more
    known = [each for each in (before, most) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([limit, *known]), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))


def used_bytes() -> int:
    """The address space of this process in bytes, from the first number (pages) of statm in proc(5)."""
    return int(STATM.read_text().split()[0]) * resource.getpagesize()
