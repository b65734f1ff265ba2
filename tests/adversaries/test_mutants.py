"""The adversaries can fail: with a protection taken away, the move that it is for is seen by the same looks.

One mutant that needs no second try stands for the others; those are long.
"""

import os
from pathlib import Path

import pytest

from tests.adversaries import job_moves, service_moves
from tests.adversaries.mutants import MUTANTS, Mutant
from tests.adversaries.passes import play
from tests.adversaries.stage import SERVER, SERVICE, Services, a_stage

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led astray")
ALWAYS = "code_is_read_with_the_rights_of_root"
CASES = [
    pytest.param(mutant, id=str(mutant), marks=[] if str(mutant) == ALWAYS else [pytest.mark.long])
    for mutant in MUTANTS
]
MOVES = {"job": job_moves.MOVES, "service": service_moves.MOVES}


@pytest.mark.parametrize("mutant", CASES)
def test_a_protection_that_is_missing_is_seen(
    mutant: Mutant,
    migrated_file: Path,
    redis_url: str,
    services: dict[int, Services],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    move = MOVES[mutant.adversary][mutant.move]
    mutant.patch(monkeypatch)
    changes: list[str] = []
    for _ in range(mutant.tries):
        with a_stage(SERVER, migrated_file, redis_url, services[SERVICE], monkeypatch, mutant.spoil) as stage:
            changes = play(stage, mutant.adversary, move, tree).changes
        if any(mutant.seen in change for change in changes):
            return
    raise AssertionError(f"{mutant.move} was not seen in {mutant.tries} tries, but: {changes}")
