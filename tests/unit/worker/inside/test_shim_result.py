"""The container's own cgroup says whether the kernel ended something for want of memory."""

import sys
from pathlib import Path

import pytest

INSIDE = Path(__file__).parents[4] / "worker" / "inside"
sys.path.insert(0, str(INSIDE))
from shim_result import ContainerCgroup  # noqa: E402

VERSIONS = {
    "v1": ("memory/memory.oom_control", "memory/memory.limit_in_bytes", "oom_kill_disable 0\nunder_oom 0\n"),
    "v2": ("memory.events", "memory.max", "low 0\nhigh 0\nmax 12\noom 1\n"),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kill_in_the_own_group_is_seen_once_it_happens(tmp_path: Path, version: str) -> None:
    events, limit, head = VERSIONS[version]
    (tmp_path / "memory").mkdir()
    (tmp_path / events).write_text(head + "oom_kill 2\n")
    (tmp_path / limit).write_text("134217728\n")
    group = ContainerCgroup(str(tmp_path))
    assert group.limit == 134_217_728
    assert not group.has_oom_kill()
    (tmp_path / events).write_text(head + "oom_kill 3\n")
    assert group.has_oom_kill()


@pytest.mark.parametrize("unlimited", ["max\n", "9223372036854771712\n", ""])
def test_no_limit_is_no_number(tmp_path: Path, unlimited: str) -> None:
    (tmp_path / "memory.max").write_text(unlimited)
    group = ContainerCgroup(str(tmp_path))
    assert group.limit is None
    assert not group.has_oom_kill()
