"""A portal that somebody has taken over, against root's scheduler: nothing of root's or other people's changes."""

import os
from pathlib import Path

import pytest

from tests.adversaries.moves import Move
from tests.adversaries.passes import play
from tests.adversaries.service_moves import MOVES
from tests.adversaries.stage import SERVER, SERVICE, Services, a_stage

SHOWN = 8
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="services are other users than the scheduler only for root"
)


CASES = [
    pytest.param(move, id=str(move), marks=[pytest.mark.long] if move.is_long else [])
    for move in MOVES.values()
]


@pytest.mark.parametrize("move", CASES)
def test_nothing_changes_outside_of_what_is_the_services(
    move: Move,
    migrated_file: Path,
    redis_url: str,
    services: dict[int, Services],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_stage(SERVER, migrated_file, redis_url, services[SERVICE], monkeypatch) as stage:
        seen = play(stage, "service", move, tree)
    assert not seen.changes, "\n".join(seen.changes[:SHOWN])
