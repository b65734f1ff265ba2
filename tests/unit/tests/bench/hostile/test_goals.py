"""The verdict of the measurement of hostile use: what counts as missed."""

from dataclasses import replace

import pytest

from tests.bench.hostile.goals import MIB, Run, goals_of, table_of
from tests.bench.hostile.normal_users import Seen
from tests.bench.hostile.phases import Phase

SERVICES = {"portal": 120 * MIB, "task-workers": 90 * MIB}
USED = {"cpu_seconds": 0.5, "seconds": 5.0, "tallies": {}}


def seen(latency: float, **more: object) -> Seen:
    return replace(Seen([latency] * 100, [0.02] * 40, 100), **more)  # type: ignore[arg-type]


def run_of(attacked: Seen, peak: dict[str, int] | None = None, after: dict[str, int] | None = None) -> Run:
    calm = [Phase("", 0, seen(0.05), SERVICES), Phase("", 0, seen(0.06), SERVICES)]
    attack = Phase("half-open heads", 0, attacked, peak or SERVICES, attackers=USED)
    return Run([*calm, attack], SERVICES, after or SERVICES)


def missed(run: Run) -> list[str]:
    return [goal.text for goal in goals_of(run) if not goal.is_kept]


def test_who_is_served_as_before_misses_nothing() -> None:
    assert missed(run_of(seen(0.15))) == []


@pytest.mark.parametrize(
    ("attacked", "text"),
    [
        (seen(0.18), "others' p99 ≤ 3 × without attackers"),
        (seen(0.05, latencies=[]), "others' p99 ≤ 3 × without attackers"),
        (seen(0.05, health=[0.02, 0.26]), "/health ≤ 250 ms at worst"),
        (seen(0.05, server_errors=1), "no 5xx but the honest 503"),
        (seen(0.05, no_answer=1), "no 5xx but the honest 503"),
        (seen(0.05, given_up=1), "no 5xx but the honest 503"),
        (seen(0.05, honest=2), "honest 503 ≤ 1% of requests"),
    ],
)
def test_each_thing_that_others_notice_is_a_goal_missed(attacked: Seen, text: str) -> None:
    assert missed(run_of(attacked)) == [f"half-open heads: {text}"]


def test_one_slow_stretch_without_attackers_excuses_nobody() -> None:
    run = run_of(seen(0.3))
    slow = Phase("", 0, seen(9.0), SERVICES)
    assert missed(Run([*run.phases, slow, slow], SERVICES, SERVICES)) == []
    assert missed(Run([*run.phases, slow], SERVICES, SERVICES)) == [
        "half-open heads: others' p99 ≤ 3 × without attackers"
    ]


def test_memory_that_grows_is_a_goal_missed() -> None:
    for name, label in (("portal", "portal"), ("task-workers", "task workers")):
        more = {**SERVICES, name: 700 * MIB}
        assert len(missed(run_of(seen(0.05), peak=more))) == 1
        assert [label in text for text in missed(run_of(seen(0.05), peak=more, after=more))] == [True, True]


def test_what_grows_with_each_repeat_is_a_goal_missed() -> None:
    run = run_of(seen(0.05))
    again = [replace(phase, number=1, peak={**SERVICES, "portal": 160 * MIB}) for phase in run.phases]
    assert missed(Run([*run.phases, *again], SERVICES, SERVICES)) == [
        "memory of portal: ≤ 32 MiB more in the last repeat than in the first"
    ]


def test_the_table_has_a_line_for_each_attack() -> None:
    lines = table_of(run_of(seen(0.15))).splitlines()
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert "| half-open heads | 100 | 150 ms | 150 ms |" in lines[3]
