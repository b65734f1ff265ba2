"""Limits how much more memory this process may allocate while it reads untrusted input."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATM = Path("/proc/self/statm")


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """At most `more` bytes of address space on top of what is taken; beyond that allocations raise MemoryError.

    A limit that is there and stricter stays.
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
    """Address space of this process: the first number of proc(5) statm, in pages."""
    return int(STATM.read_text().split()[0]) * resource.getpagesize()
