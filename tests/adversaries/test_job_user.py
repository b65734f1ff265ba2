"""A job that does all that its user may, against root's scheduler: nothing outside its folders changes."""

import os
from pathlib import Path

import pytest

from tests.adversaries.job_moves import MOVES
from tests.adversaries.moves import Move
from tests.adversaries.passes import play
from tests.adversaries.stage import EMBEDDED, SERVER, Layout, Services, a_stage

SHOWN = 8
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="jobs are other users than the scheduler only for root")


@pytest.mark.parametrize("layout", [SERVER, EMBEDDED], ids=str)
@pytest.mark.parametrize("move", MOVES.values(), ids=str)
def test_nothing_changes_outside_of_what_is_the_jobs(
    move: Move,
    layout: Layout,
    migrated_file: Path,
    redis_url: str,
    services: dict[int, Services],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = services[layout.service]
    with a_stage(layout, migrated_file, redis_url, own, monkeypatch) as stage:
        seen = play(stage, "job", move, tree)
    assert not seen.changes, "\n".join(seen.changes[:SHOWN])
    assert not stage.troubles, stage.troubles
