"""Only playbooks as they were installed may run."""

import hashlib
import os
from pathlib import Path

import pytest

from cluster.domain.errors import Unavailable
from worker.adapters.installed_playbooks import check_installed_playbooks


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "ansible"
    (folder / "repairs").mkdir(parents=True)
    (folder / "repairs" / "one.yml").write_text("one")
    digest = hashlib.sha256(b"one").hexdigest()
    (folder / "MANIFEST").write_text(f"{digest}  repairs/one.yml\n")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def test_playbooks_as_they_were_installed_may_run(tree: Path) -> None:
    check_installed_playbooks(tree, os.getuid())


def test_playbooks_that_were_changed_added_removed_or_handed_over_may_not(tree: Path) -> None:
    file = tree / "repairs" / "one.yml"
    changes = {
        "changed": lambda: file.write_text("two"),
        "added": lambda: (tree / "repairs" / "two.yml").write_text("two"),
        "removed": lambda: file.unlink(),
        "writable": lambda: file.chmod(0o666),
        "no manifest": lambda: (tree / "MANIFEST").unlink(),
    }
    for change in changes.values():
        change()
        with pytest.raises(Unavailable) as refused:
            check_installed_playbooks(tree, os.getuid())
        assert refused.value.code == "repair.tree_changed"
        for path in tree.rglob("*.yml"):
            path.unlink()
        file.write_text("one")
        file.chmod(0o644)
    with pytest.raises(Unavailable):
        check_installed_playbooks(tree, os.getuid() + 1)
