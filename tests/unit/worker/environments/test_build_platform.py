"""The facts of this machine are read."""

import re

from worker.environments.build_platform import (
    read_build_platform,
)


def test_this_machine_is_read() -> None:
    machine = read_build_platform()
    assert machine.libc.startswith("glibc-")
    assert re.fullmatch(r"3\.\d+", machine.python)
