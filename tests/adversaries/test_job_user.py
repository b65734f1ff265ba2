"""A job that does all that its user may, against root's scheduler: nothing outside its folders changes."""

import os
from pathlib import Path

import pytest

from tests.adversaries.job_moves import MOVES
from tests.adversaries.moves import Move
from tests.adversaries.passes import play
from tests.adversaries.stage import EMBEDDED, SERVER, Layout, Services, a_stage

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="jobs are other users than the scheduler only for root"
)
SHOWN = 8
ROUNDS = 20
RACES = [move for move in MOVES.values() if move.races]
LONG = pytest.mark.long


def marks_of(move: Move, layout: Layout) -> list[pytest.MarkDecorator]:
    is_short = not move.is_long and (layout is SERVER or move.races)
    return [] if is_short else [LONG]


CASES = [
    pytest.param(move, layout, id=f"{move}-{layout}", marks=marks_of(move, layout))
    for move in MOVES.values()
    for layout in (SERVER, EMBEDDED)
]


@pytest.mark.parametrize(("move", "layout"), CASES)
def test_nothing_changes_outside_of_what_is_the_jobs(
    move: Move,
    layout: Layout,
    migrated_file: Path,
    redis_url: str,
    services: dict[int, Services],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_stage(layout, migrated_file, redis_url, services[layout.service], monkeypatch) as stage:
        seen = play(stage, "job", move, tree)
    assert not seen.changes, "\n".join(seen.changes[:SHOWN])
    assert not seen.troubles


@LONG
@pytest.mark.parametrize("layout", [SERVER, EMBEDDED], ids=str)
@pytest.mark.parametrize("move", RACES, ids=str)
def test_a_race_is_lost_in_every_round(
    move: Move,
    layout: Layout,
    migrated_file: Path,
    redis_url: str,
    services: dict[int, Services],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(ROUNDS):
        with a_stage(layout, migrated_file, redis_url, services[layout.service], monkeypatch) as stage:
            seen = play(stage, "job", move, tree)
        assert not seen.changes, f"round {number + 1}:\n" + "\n".join(seen.changes[:SHOWN])
