"""Mixed pages of 16 people, 4 administrators and 12 members of different workspaces, while jobs start and end.

A process of its own asks through nginx on 16 kept connections, without If-None-Match. Meanwhile 5 jobs per second are
submitted, start and end (simulated), and agents send 16.7 heartbeats per second. Bare Flask behind the same nginx and
gunicorn takes turns with the portal. Then half of the rate that was reached, at a fixed pace. Then, without jobs and
heartbeats, each page by one client, `/sign-in` and a static file.
"""

import random
import re
from urllib.request import urlopen

from tests.bench.portal_load.activity import ongoing_work
from tests.bench.portal_load.bare_flask import bare_flask
from tests.bench.portal_load.client_process import LoadResult, run_clients
from tests.bench.portal_load.full_installation import (
    FullInstallation,
    SignedInPerson,
    full_installation,
    read_cache_counters,
)
from tests.bench.portal_load.portal_bench import CONTENDERS, SIZES, PortalBench, name_of_size, noted_cpu
from tests.bench.portal_load.request_plan import PlannedPage, RequestPlan, pages_of

MEASURE = "P7"
TITLE = "Pages at full size"
CLIENTS = 16
STATIC_FILE = re.compile(r'(?:href|src)="(/static/[^"]+)"')


def run(bench: PortalBench) -> None:
    for kind in bench.databases:
        for size in SIZES:
            with full_installation(kind, size) as full:
                measure(bench, CONTENDERS[kind], full)


def measure(bench: PortalBench, contender: str, full: FullInstallation) -> None:
    people = full.people()
    clients = [pages_of(full.cluster, full.size, person) for person in people]
    with bare_flask(full.cluster.settings) as bare_port, ongoing_work(full, people[0]):
        run_clients(RequestPlan(full.port, 3, clients))  # Warm, and sessions have noted their minute.
        rate = measure_at_full_load(bench, contender, full, clients, bare_port)
        measure_at_half_load(bench, contender, full, clients, rate / 2)
    measure_alone(bench, contender, full, people)
    measure_frame(bench, contender, full)


def measure_at_full_load(
    bench: PortalBench,
    contender: str,
    full: FullInstallation,
    clients: list[list[PlannedPage]],
    bare_port: int,
) -> float:
    """The median rate."""
    case, ledger = f"{name_of_size(full.size)}, mixed pages, {CLIENTS} clients", bench.ledger
    bare_pages = [[PlannedPage("bare", ["/"], {})]] * CLIENTS
    for repeat in range(bench.few(2, 5)):
        counters = read_cache_counters(full.port)
        plan = RequestPlan(full.port, bench.few(6, 20), clients, seed=random.Random(repeat).randrange(1000))
        used = full.cpu_seconds()["portal"]
        with noted_cpu(bench, MEASURE, case, contender, full):
            found = run_clients(plan)
        used = full.cpu_seconds()["portal"] - used
        ledger.value(
            MEASURE, f"{case}: the portal's CPU for a page", contender, "s", used / max(1, found.answered)
        )
        note_answers(bench, case, contender, found)
        note_cache(bench, case, contender, counters, read_cache_counters(full.port))
        bare = run_clients(RequestPlan(bare_port, bench.few(3, 6), bare_pages))
        ledger.value(MEASURE, f"{case}: bare Flask in its turn", contender, "/s", bare.rate)
        ledger.value(MEASURE, f"{case}: bare Flask : ours", contender, "", bare.rate / max(found.rate, 0.01))
    series = ledger.find(MEASURE, case, contender)
    assert series is not None
    return series.median


def note_answers(bench: PortalBench, case: str, contender: str, found: LoadResult) -> None:
    ledger = bench.ledger
    ledger.value(MEASURE, case, contender, "/s", found.rate)
    ledger.latencies(MEASURE, f"{case}: each answer", contender, found.latencies)
    ledger.value(MEASURE, f"{case}: answers 5xx", contender, "answers", found.count_statuses("5"))
    ledger.value(MEASURE, f"{case}: other answers than a page", contender, "answers", found.unanswered)
    for name, page in sorted(found.pages.items()):
        ledger.latencies(f"{MEASURE}, {case}", name, contender, page.latencies)


def note_cache(
    bench: PortalBench, case: str, contender: str, before: dict[str, float], after: dict[str, float]
) -> None:
    """The share of all look-ups that a cache answered, where the portal counts them."""
    asked = {name: after[name] - before.get(name, 0.0) for name in after}
    hits = sum(count for name, count in asked.items() if "_hits_" in name)
    if total := sum(asked.values()):
        bench.ledger.value(MEASURE, f"{case}: found in a cache", contender, "%", 100 * hits / total)


def measure_at_half_load(
    bench: PortalBench, contender: str, full: FullInstallation, clients: list[list[PlannedPage]], rate: float
) -> None:
    case = f"{name_of_size(full.size)}, half of that rate"
    for repeat in range(bench.few(1, 3)):
        found = run_clients(RequestPlan(full.port, bench.few(8, 20), clients, rate=rate, seed=repeat))
        bench.ledger.latencies(MEASURE, f"{case}: each answer", contender, found.latencies)
        bench.ledger.value(MEASURE, f"{case}: answers 5xx", contender, "answers", found.count_statuses("5"))


def measure_alone(
    bench: PortalBench, contender: str, full: FullInstallation, people: list[SignedInPerson]
) -> None:
    """Each page by one client, as an administrator and as a member."""
    member = next(person for person in people if not person.is_administrator)
    for role, person in (("administrator", people[0]), ("member", member)):
        for page in pages_of(full.cluster, full.size, person):
            found = run_clients(RequestPlan(full.port, bench.few(1, 3), [[page]]))
            table = f"{MEASURE}, {name_of_size(full.size)}, one client"
            bench.ledger.latencies(table, f"{page.name}, {role}", contender, found.latencies)


def measure_frame(bench: PortalBench, contender: str, full: FullInstallation) -> None:
    """What needs no row of a job, and what nginx answers by itself."""
    with urlopen(f"http://127.0.0.1:{full.port}/sign-in", timeout=30) as answer:
        found = STATIC_FILE.search(answer.read().decode())
    assert found, "/sign-in names no static file"
    for name, path in (("/sign-in", "/sign-in"), ("a static file", found[1])):
        pages = [[PlannedPage(name, [path], {})]] * CLIENTS
        for _ in range(bench.few(1, 3)):
            load = run_clients(RequestPlan(full.port, bench.few(3, 6), pages))
            bench.ledger.value(MEASURE, f"{name_of_size(full.size)}, {name}", contender, "/s", load.rate)
