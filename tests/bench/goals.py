"""The goals of each measure, and how each one is read from the results."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.results import Ledger, Series

Read = Callable[[Ledger, str], float | None]


@dataclass(frozen=True)
class Goal:
    """`read` gives a contender's figure, or None where it has none."""

    measure: str
    text: str
    unit: str
    limit: float
    is_more_better: bool
    read: Read

    def is_kept(self, value: float) -> bool:
        return value >= self.limit if self.is_more_better else value <= self.limit


def median_of(measure: str, case: str) -> Read:
    return lambda ledger, contender: of(ledger, measure, case, contender, lambda series: series.median)


def p99_of(measure: str, case: str) -> Read:
    return lambda ledger, contender: of(ledger, measure, case, contender, lambda s: s.percentile(0.99))


def p50_of(measure: str, case: str) -> Read:
    return lambda ledger, contender: of(ledger, measure, case, contender, lambda s: s.percentile(0.5))


def of(
    ledger: Ledger, measure: str, case: str, contender: str, figure: Callable[[Series], float]
) -> float | None:
    series = ledger.find(measure, case, contender)
    return figure(series) if series and series.samples else None


def ratio_of(above: Read, below: Read) -> Read:
    def read(ledger: Ledger, contender: str) -> float | None:
        first, second = above(ledger, contender), below(ledger, contender)
        return first / second if first is not None and second else None

    return read


def at_least(measure: str, text: str, limit: float, read: Read, unit: str = "/s") -> Goal:
    return Goal(measure, text, unit, limit, True, read)


def at_most(measure: str, text: str, limit: float, read: Read, unit: str = "s") -> Goal:
    return Goal(measure, text, unit, limit, False, read)


P1_NONE, P1_MOST = median_of("P1", "0 queued"), median_of("P1", "100,000 queued")
WRAPPER = "P3, the wrapper's first byte"
NAPS = "jobs of 0.2 s on 2 units"


def decision(depth: str) -> Read:
    return p50_of("P2", f"one decision, {depth} queued")


GOALS = (
    at_least("P1", "≥ 300 durable submissions/s over HTTP, empty queue", 300, P1_NONE),
    at_least("P1", "the same with 10,000 queued", 300, median_of("P1", "10,000 queued")),
    at_least("P1", "rate at 100,000 queued ≥ 0.85 × rate at 0", 0.85, ratio_of(P1_MOST, P1_NONE), ""),
    at_most("P2", "one decision at 100,000 queued, p50 ≤ 1 ms", 0.001, decision("100,000")),
    at_most("P2", "p99 ≤ 5 ms", 0.005, p99_of("P2", "one decision, 100,000 queued")),
    at_most("P2", "t(100,000) / t(1,000) ≤ 1.5", 1.5, ratio_of(decision("100,000"), decision("1,000")), ""),
    at_least(
        "P2",
        "≥ 1,000 placements/s, quota on, 100,000 queued",
        1000,
        median_of("P2", "placements with 200 units free, 100,000 queued"),
    ),
    at_most(
        "P2",
        "a look at a blocked queue of 100,000 ≤ 50 ms",
        0.05,
        p50_of("P2", "a look at a blocked queue, 100,000 queued"),
    ),
    at_most(
        "P3",
        "submit → the wrapper's first byte, 10,000 queued, p99 ≤ 100 ms",
        0.1,
        p99_of(WRAPPER, "10,000 queued"),
    ),
    at_most("P3", "p50 ≤ 40 ms", 0.04, p50_of(WRAPPER, "10,000 queued")),
    at_most("P3", "100,000 queued, p99 ≤ 150 ms", 0.15, p99_of(WRAPPER, "100,000 queued")),
    at_most("P3", "submit → the program's own first byte, the same", 0.15, p99_of("P3", "10,000 queued")),
    at_most("P4", "idle gap p99 ≤ 200 ms", 0.2, p99_of("P4", NAPS)),
    at_least("P5", "≥ 60 short jobs/s on 2 units", 60, median_of("P5", "/bin/true on 2 units")),
    at_most("P6", "a sweep of 10,000 accepted ≤ 2 s", 2.0, median_of("P6", "10,000 jobs accepted")),
    at_most(
        "P6", "its first job starts ≤ 300 ms later", 0.3, median_of("P6", "first start after the answer")
    ),
    at_most(
        "P6",
        "others' p99 meanwhile ≤ 2 × before",
        2.0,
        ratio_of(p99_of("P6", "another reader meanwhile"), p99_of("P6", "another reader before")),
        "",
    ),
    at_most(
        "Q",
        "the queue's page with 100,000 queued, p99 ≤ 100 ms",
        0.1,
        p99_of("Q", "GET /queue, 100,000 queued"),
    ),
    at_most("Q", "the same over REST", 0.1, p99_of("Q", "GET /api/v1/queue, 100,000 queued")),
    at_most("P13", "everything killed → all right ≤ 15 s", 15, median_of("P13", "everything is right")),
    at_most("P13", "the portal answers ≤ 5 s", 5, median_of("P13", "the portal answers")),
    at_most(
        "P13",
        "no acknowledged job is lost",
        0,
        median_of("P13", "lost of 40 acknowledged jobs"),
        "jobs",
    ),
)
