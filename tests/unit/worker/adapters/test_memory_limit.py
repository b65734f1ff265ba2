"""Input of others is read with so much more memory and no more."""

import resource

import pytest

from worker.adapters.memory_limit import limited_memory, used_bytes


def test_beyond_the_limit_there_is_no_memory_and_afterwards_there_is() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limited_memory(64 * 1024 * 1024), pytest.raises(MemoryError):
        bytearray(512 * 1024 * 1024)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert used_bytes() > 1024 * 1024
