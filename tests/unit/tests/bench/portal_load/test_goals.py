"""The goals of the portal read what its measures write: a goal whose case nobody writes would never be judged."""

from tests.bench.portal_load.goals import GOALS, slowest_page
from tests.bench.portal_load.report import summary_of
from tests.bench.results import Ledger

OURS, BESIDE = "Groundcrew, PostgreSQL", "Groundcrew, SQLite"


def test_a_goal_is_missed_where_one_database_misses_it() -> None:
    ledger = Ledger()
    case = "500 nodes, mixed pages, 16 clients"
    ledger.value("P7", case, OURS, "/s", 250)
    assert "| 250/s |  | kept |" in summary_of(ledger)
    ledger.value("P7", case, BESIDE, "/s", 150)
    assert "| 250/s | 150/s | **missed** |" in summary_of(ledger)


def test_the_slowest_page_speaks_for_all() -> None:
    ledger = Ledger()
    for page, seconds in (("dashboard", 0.03), ("queue", 0.05)):
        ledger.latencies("P7, 500 nodes, one client", page, OURS, [seconds] * 5)
    goal = slowest_page("500 nodes")
    assert goal.read(ledger, OURS) == 0.05
    assert goal.read(ledger, BESIDE) is None


def test_each_measure_has_goals() -> None:
    assert {goal.measure for goal in GOALS} == {"P7", "P8", "P15", "W", "C"}
    assert all(goal.read(Ledger(), OURS) is None for goal in GOALS)
