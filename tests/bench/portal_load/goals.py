"""What was promised of the portal at full size, and how it is read out of what was measured."""

from tests.bench.goals import Goal, at_least, at_most, median_of, p50_of, p99_of
from tests.bench.portal_load.tails import IDLE_STREAMS, TAILS
from tests.bench.results import Ledger

FULL, FOUR = "500 nodes", "4 nodes"
MIXED = "mixed pages, 16 clients"


def slowest_page(size: str) -> Goal:
    """The page with the largest p50 among those that one client asked for."""
    table = f"P7, {size}, one client"

    def read(ledger: Ledger, contender: str) -> float | None:
        mine = [each for each in ledger.series if each.measure == table and each.contender == contender]
        return max((each.percentile(0.5) for each in mine), default=None)

    return at_most("P7", f"{size}: every page, one client, p50 ≤ 40 ms (the slowest page)", 0.04, read)


GOALS = (
    at_least("P7", f"{FULL}: ≥ 200 mixed requests/s", 200, median_of("P7", f"{FULL}, {MIXED}")),
    at_most(
        "P7",
        f"{FULL}: at half of that p99 ≤ 100 ms",
        0.1,
        p99_of("P7", f"{FULL}, half of that rate: each answer"),
    ),
    slowest_page(FULL),
    at_least("P7", f"{FOUR}: ≥ 250 mixed requests/s", 250, median_of("P7", f"{FOUR}, {MIXED}")),
    at_most(
        "P7",
        f"{FOUR}: at half of that p99 ≤ 100 ms",
        0.1,
        p99_of("P7", f"{FOUR}, half of that rate: each answer"),
    ),
    slowest_page(FOUR),
    at_least("P7", "/sign-in ≥ 400/s", 400, median_of("P7", f"{FULL}, /sign-in")),
    at_least("P7", "a static file ≥ 1,500/s", 1500, median_of("P7", f"{FULL}, a static file")),
    at_most("P7", "no answer 5xx", 0, median_of("P7", f"{FULL}, {MIXED}: answers 5xx"), "answers"),
    *(
        at_most("P8", f"{tail}: p99 ≤ 500 ms", 0.5, p99_of("P8", f"{tail}: line written → received"))
        for tail in TAILS
    ),
    *(
        at_most("P8", f"{tail}: {case}", 0, median_of("P8", f"{tail}: {case}"), "readers")
        for tail in TAILS
        for case in (
            "readers that were refused",
            "readers with other bytes than the file",
            "readers that did not reach the end",
        )
    ),
    at_most(
        "P8",
        f"{IDLE_STREAMS} idle streams ≤ 1 % of a core",
        1,
        median_of("P8", f"{IDLE_STREAMS} idle streams: CPU of stream"),
        "%",
    ),
    at_most("P15", "≤ 450 MiB PSS", 450, median_of("P15", "memory (PSS) of everything"), "MiB"),
    at_most("P15", "≤ 1 % of a core", 1, median_of("P15", "CPU of everything"), "% of a core"),
    at_most(
        "W",
        "dashboard, 500 nodes, cold ≤ 200 kB",
        200,
        median_of("W", f"{FULL}, dashboard, cold: over the wire"),
        "kB",
    ),
    at_most("W", "interactive ≤ 0.8 s", 0.8, median_of("W", f"{FULL}, dashboard, cold: interactive")),
    at_most("W", "warm ≤ 30 kB", 30, median_of("W", f"{FULL}, dashboard, warm: over the wire"), "kB"),
    at_most("W", "job page, cold ≤ 150 kB", 150, median_of("W", f"{FULL}, job, cold: over the wire"), "kB"),
    at_most(
        "C",
        "the command: ≤ 100 ms until its request is sent",
        0.1,
        p50_of("C", "job list: until its request is on the wire"),
    ),
)
