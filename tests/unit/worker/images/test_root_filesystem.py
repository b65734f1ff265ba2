"""Mounts that a killed build has left are unmounted."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from worker.environments.command_runner import CommandRunner
from worker.images.description import read_variant
from worker.images.root_filesystem import RootFilesystem


def test_what_a_killed_build_leaves_mounted_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mmdebstrap mounts /proc and /sys below its folder, and cannot take them away once it is killed."""
    ran: list[list[str]] = []

    class Recorded(CommandRunner):
        def run(self, command: Sequence[str | Path], **_: object) -> list[str]:  # type: ignore[override]
            ran.append([str(word) for word in command])
            return []

    monkeypatch.setattr("worker.images.root_filesystem.list_apt_sources", lambda: [])
    variant = read_variant("cpu")
    root = RootFilesystem(tmp_path / "root", tmp_path, Recorded(tmp_path / "log", "mark"))
    root.create(variant.system, variant.system.packages, lambda: None)
    assert ran[0][: ran[0].index("mmdebstrap")] == ["unshare", "--mount", "--"]
