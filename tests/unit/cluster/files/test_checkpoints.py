"""Checkpoints are listed with their notes; a hostile folder shows nothing of elsewhere."""

import json
import os
from pathlib import Path

from cluster.files.checkpoints import best_checkpoint, list_checkpoints


def test_checkpoints_come_newest_first_with_their_notes(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for epoch, accuracy in ((1, 0.8), (2, 0.95), (3, 0.95), (10, 0.9)):
        (folder / f"epoch-{epoch:04}.weights.h5").write_bytes(b"w" * epoch)
        (folder / f"epoch-{epoch:04}.json").write_text(
            json.dumps(
                {"epoch": epoch, "step": epoch * 10, "scalars": {"accuracy/validation": accuracy, "x": 1e999}}
            )
        )
    (folder / "later.pt").write_bytes(b"")
    found = list_checkpoints(tmp_path)
    assert [one.epoch for one in found] == [10, 3, 2, 1, None]
    assert (found[0].size, found[0].step, dict(found[0].scalars)) == (10, 100, {"accuracy/validation": 0.9})
    first_best = best_checkpoint(found, "accuracy/validation", highest=True)
    assert first_best is not None
    assert first_best.epoch == 2


def test_a_hostile_checkpoint_folder_shows_nothing_of_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (tmp_path / "groundcrew.db").write_text("secret")
    (folder / "a.h5").symlink_to(tmp_path / "groundcrew.db")
    os.mkfifo(folder / "b.h5")
    (folder / "c.h5").mkdir()
    (folder / "-rf").write_bytes(b"")
    (folder / "한글.h5").write_bytes(b"")
    (folder / "d.h5").write_bytes(b"ok")
    (folder / "d.json").write_bytes(b"[" * 60_000)
    assert [one.name for one in list_checkpoints(tmp_path)] == ["d.h5"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "checkpoints").symlink_to(folder)
    assert list_checkpoints(tmp_path, "other") == []


def test_a_time_that_nobody_can_have_written_hides_no_checkpoint(tmp_path: Path) -> None:
    """Who owns a file sets its time. Some filesystems keep years that Python's calendar does not have."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for name, seconds in (("far.h5", 2**40), ("before.h5", -(2**40))):
        (folder / name).write_bytes(b"w")
        os.utime(folder / name, (seconds, seconds))
    assert {one.name: one.written_at.year for one in list_checkpoints(tmp_path)} == {
        "far.h5": 2100,
        "before.h5": 1980,
    }
