"""The tab shows what the program wrote, and nothing once it was deleted."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.domain.errors import NotFound
from portal.presenters.jobs.job_files_tab import read_files_tab


def test_files_are_shown_until_they_are_deleted(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("x")
    files = SimpleNamespace(root=tmp_path, out=("out",))
    view: Any = SimpleNamespace(files=files, files_deletion=None)
    listing = read_files_tab(view, "").listing
    assert listing is not None and [one.name for one in listing.entries] == ["a.txt"]
    with pytest.raises(NotFound):
        read_files_tab(view, "b.txt")
    view.files_deletion = ("job.files_deleted", {})
    shown = read_files_tab(view, "")
    assert shown.listing is None and shown.preview is None
