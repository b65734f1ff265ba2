"""The harness finds what it is there for: each rule is broken on purpose, and the broken rule is named."""

import pytest

from tests.crash import mutants
from tests.crash.installation import Ground
from tests.crash.interleavings import one_pause
from tests.crash.scenario.main_scenario import MAIN
from tests.crash.sweep import Patch, list_points, one_run


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (mutants.ring_before_commit, "rings: the bell rang for jobs"),
        (mutants.free_units_before_the_end, "on which job 2 still ran"),
        (mutants.forget_audit, "has 0 audit entries of its submission"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_rule_is_found_in_the_first_run(ground: Ground, rule: Patch, says: str) -> None:
    assert any(says in sentence for sentence in one_run(ground, MAIN, [], rule).wrong)


def test_a_stale_scheduler_without_the_fence_check_is_found(ground: Ground) -> None:
    """Only a second scheduler can show it: one stands still before it records an interruption."""
    points = list_points(ground, MAIN)
    number = next(at for at, point in enumerate(points, start=1) if is_before_an_interruption(points, at))
    assert not one_pause(ground, MAIN, number).wrong
    assert one_pause(ground, MAIN, number, mutants.drop_fence_check).wrong


def is_before_an_interruption(points: list[str], number: int) -> bool:
    return points[number - 1] == "executor.end_leftovers answered" and points[number] == (
        "jobs.attempts.record_interruption committing"
    )
