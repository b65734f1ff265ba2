"""One count of how full a disk is, for the dashboard, the nodes, the repairs and the numbers."""

from collections import namedtuple
from pathlib import Path

import pytest

from cluster.services.storage import disk_space
from worker.adapters import host

Usage = namedtuple("Usage", "total used free")


def test_what_nobody_may_use_counts_as_neither_used_nor_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda folder: Usage(1000, 300, 200))
    disk = disk_space.read_disk_usage(tmp_path)
    assert (disk.total, disk.used_share) == (500, 0.6)
    facts = host.read_facts(tmp_path)
    assert (facts["disk_bytes"], facts["disk_free_bytes"]) == (500, 200)
