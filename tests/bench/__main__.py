"""`make bench`: measures the queue beside its rivals, and the portal at full size; writes docs/measurements.

python -m tests.bench [--quick] [--anyway] [--only P1,P3 [--again]] [--database postgresql] [--tail-seconds 600]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from tests.bench import machine, report
from tests.bench.baselines.slurm import SlurmMissing
from tests.bench.bench_installation import TooSlow
from tests.bench.bench_run import Ground, a_ground
from tests.bench.measures import (
    decisions,
    gaps,
    queue_pages,
    recovery,
    short_jobs,
    starts,
    submissions,
    sweeps,
)
from tests.bench.portal_load import (
    command_start,
    footprint,
    mixed_pages,
    page_weight,
    tails,
)
from tests.bench.portal_load import report as portal_report
from tests.bench.portal_load.portal_bench import PortalBench
from tests.bench.rest_clients import Unexpected
from tests.bench.results import Ledger, load, missing

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "measurements"
MEASURES = (submissions, decisions, starts, gaps, short_jobs, sweeps, queue_pages, recovery)
PORTAL_MEASURES = (mixed_pages, tails, footprint, page_weight, command_start)
TROUBLES = (
    TooSlow,
    Unexpected,
    AssertionError,
    OSError,
    SlurmMissing,
    subprocess.SubprocessError,
    psutil.Error,
)
"""What ends one measure and not the run: it is said in the report."""
DATABASES = ("postgresql", "sqlite")
TAIL_SECONDS = 15.0


def main(arguments: list[str]) -> int:
    asked = parse(arguments)
    folder = Path(asked.out) if asked.out else FOLDER
    try:
        idleness: dict[str, Any] = {"busy": machine.check_idle()}
    except machine.NotIdle as trouble:
        if not asked.anyway:
            print(f"The machine is not idle: {trouble}.\nNothing is measured; --anyway measures and says so.")
            return 1
        idleness = {"busy": machine.busy_share(1.0), "anyway": str(trouble)}
    prepare_environment()
    if queue := choose(MEASURES, asked):
        measure_queue(asked, folder, queue, idleness)
    if portal := choose(PORTAL_MEASURES, asked):
        measure_portal(asked, folder, portal, idleness)
    return 0


def choose(measures: Sequence[ModuleType], asked: argparse.Namespace) -> list[ModuleType]:
    return [measure for measure in measures if not asked.only or measure.MEASURE in asked.only.split(",")]


def measure_queue(
    asked: argparse.Namespace, folder: Path, chosen: list[ModuleType], idleness: dict[str, Any]
) -> None:
    ledger = open_ledger(asked, folder / report.DATA, chosen, idleness)
    with a_ground(ledger, asked.quick, asked.database or DATABASES) as ground:
        for measure in chosen:
            take(ground, measure)
            ledger.save(folder / report.DATA)  # What is measured stays, whatever happens to the next one.
    report.write(ledger, folder, ground.environment)
    print(f"\nwritten: {folder / 'queue.md'}")


def measure_portal(
    asked: argparse.Namespace, folder: Path, chosen: list[ModuleType], idleness: dict[str, Any]
) -> None:
    ledger = open_ledger(asked, folder / portal_report.DATA, chosen, idleness)
    ledger.facts["tail seconds"] = asked.tail_seconds
    bench = PortalBench(ledger, asked.quick, tuple(asked.database or DATABASES), asked.tail_seconds)
    for measure in chosen:
        take(bench, measure)
        ledger.save(folder / portal_report.DATA)
    portal_report.write(ledger, folder)
    print(f"\nwritten: {folder / portal_report.PAGE}")


def open_ledger(
    asked: argparse.Namespace, data: Path, chosen: list[ModuleType], idleness: dict[str, Any]
) -> Ledger:
    """A new one, or with `--again` the one of the run before, without what is measured now."""
    ledger = take_up(data, chosen) if asked.again else begin(asked.quick)
    ledger.facts |= idleness
    print_machine(ledger)
    return ledger


def begin(is_quick: bool) -> Ledger:
    return Ledger(facts=moment() | {"quick": is_quick, "machine": machine.describe()})


def take_up(data: Path, chosen: Sequence[ModuleType]) -> Ledger:
    """The run before, without what is measured again: each measure is whole, with its rivals, from one run."""
    ledger = load(data)
    for measure in chosen:
        ledger.forget(measure.MEASURE)
        ledger.facts.setdefault("again", {})[measure.MEASURE] = moment()
    return ledger


def moment() -> dict[str, Any]:
    return {"begun": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit()}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, within three minutes")
    parser.add_argument("--anyway", action="store_true", help="also on a busy machine; the report says so")
    parser.add_argument("--only", help="measures, with commas: P1,P3")
    parser.add_argument(
        "--again", action="store_true", help="with --only: the other measures stay as they were"
    )
    parser.add_argument("--database", action="append", choices=DATABASES, help="only this one")
    parser.add_argument(
        "--tail-seconds", type=float, default=TAIL_SECONDS, help="how long P8 follows logs (goals: 600)"
    )
    parser.add_argument("--out", help="another folder than docs/measurements")
    return parser.parse_args(arguments)


def take(ground: Ground | PortalBench, measure: ModuleType) -> None:
    """One measure with all its repeats; says how long it took and how busy the machine was just before."""
    busy = machine.busy_share(1.0)
    print(f"{measure.MEASURE:<4} {measure.TITLE} ...", flush=True)
    begun = time.monotonic()
    with missing(ground.ledger, f"{measure.MEASURE}, {measure.TITLE}", *TROUBLES):
        measure.run(ground)
    took = time.monotonic() - begun
    seconds = ground.ledger.facts.setdefault("seconds", {})
    seconds[measure.MEASURE] = round(took, 1)
    ground.ledger.facts.setdefault("busy before", {})[measure.MEASURE] = round(busy, 3)
    print(f"     {took:.0f} s; {busy:.0%} of the machine was in use before", flush=True)
    report.say(ground.ledger, measure.MEASURE)


def print_machine(ledger: Ledger) -> None:
    facts = ledger.facts["machine"]
    print(
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_bytes'] / 1e9:.0f} GB, "
        f"a synced write of 4 KiB {facts['fsync_seconds'] * 1000:.2f} ms",
        flush=True,
    )


def commit() -> str:
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def prepare_environment() -> None:
    """The training environment; nothing where it stands already."""
    command = [sys.executable, "-m", "worker.environments", "build"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
