"""What everything that `make up` starts takes while nobody uses it: memory by PSS, CPU, and how often it wakes.

A new installation without any rows, as `make up TRAINING=no` leaves it; nginx, Redis and the process manager count.
"""

import time
from collections import Counter
from dataclasses import dataclass

import psutil

from cluster.settings import Settings
from tests.bench.bench_installation import is_environment_ready, wait_until
from tests.bench.portal_load.full_installation import services
from tests.bench.portal_load.portal_bench import CONTENDERS, PortalBench
from tests.databases import DURABLE, postgresql_server
from tests.installation import Installation, an_installation
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.embedded.state_directory import ensure_state_directory

MEASURE = "P15"
TITLE = "The idle installation"
SETTLED_SECONDS = 20


@dataclass(frozen=True)
class ProcessUse:
    """Bytes, seconds of CPU so far, and how often it has given up the processor."""

    pss: int
    cpu_seconds: float
    switches: int


def run(bench: PortalBench) -> None:
    for kind in bench.databases:
        if kind == "postgresql":
            with postgresql_server(DURABLE) as server, server.migrated() as url:
                measure(bench, kind, {"GROUNDCREW_DATABASE_URL": url})
        else:
            measure(bench, kind, {})


def measure(bench: PortalBench, kind: str, more: dict[str, str]) -> None:
    with an_installation() as installation:
        ensure_state_directory(installation.places)
        if more:
            write_settings_file(installation.places.settings_file, more)
        installation.up()
        wait_until_idle(installation)
        seconds = bench.few(10, 60)
        before, begun = use_of(installation), time.monotonic()
        time.sleep(seconds)
        after, took = use_of(installation), time.monotonic() - begun
    note(bench, CONTENDERS[kind], before, after, took)


def wait_until_idle(installation: Installation) -> None:
    settings = Settings.from_environment(read_settings_file(installation.places.settings_file))
    cluster = open_cluster(settings)
    try:
        wait_until(lambda: is_environment_ready(cluster), 1800, "the training environment")
    finally:
        cluster.store.close()
    time.sleep(SETTLED_SECONDS)


def use_of(installation: Installation) -> dict[tuple[str, int], ProcessUse]:
    """By name of the service and process id; what belongs to no service is the process manager."""
    names = {pid: name for name, pid in installation.pids().items()}
    found = {}
    for process in services(installation):
        if (use := read_use(process)) is not None:
            found[name_of(process, names), process.pid] = use
    return found


def read_use(process: psutil.Process) -> ProcessUse | None:
    try:
        times, switches = process.cpu_times(), process.num_ctx_switches()
        pss = process.memory_full_info().pss
    except psutil.NoSuchProcess:
        return None
    return ProcessUse(pss, times.user + times.system, switches.voluntary)


def name_of(process: psutil.Process, names: dict[int, str]) -> str:
    """Of the service that the process is or was started by."""
    line = [process, *process.parents()]
    return next((names[each.pid] for each in line if each.pid in names), "supervisord")


def note(
    bench: PortalBench,
    contender: str,
    before: dict[tuple[str, int], ProcessUse],
    after: dict[tuple[str, int], ProcessUse],
    seconds: float,
) -> None:
    memory: Counter[str] = Counter()
    cpu: Counter[str] = Counter()
    wakes: Counter[str] = Counter()
    for key, use in after.items():
        earlier = before.get(key, ProcessUse(0, use.cpu_seconds, use.switches))
        memory[key[0]] += use.pss
        cpu[key[0]] += use.cpu_seconds - earlier.cpu_seconds
        wakes[key[0]] += use.switches - earlier.switches
    ledger = bench.ledger
    ledger.value(MEASURE, "memory (PSS) of everything", contender, "MiB", memory.total() / 2**20)
    ledger.value(MEASURE, "CPU of everything", contender, "% of a core", 100 * cpu.total() / seconds)
    ledger.value(MEASURE, "wakes of everything", contender, "/s", wakes.total() / seconds)
    for name in sorted(memory):
        ledger.value(f"{MEASURE}, memory (PSS)", name, contender, "MiB", memory[name] / 2**20)
        ledger.value(f"{MEASURE}, CPU", name, contender, "% of a core", 100 * cpu[name] / seconds)
        ledger.value(f"{MEASURE}, wakes", name, contender, "/s", wakes[name] / seconds)
