"""Measures how much well-behaved people notice of attackers, on an installation of its own, loopback only.

python -m tests.bench.hostile [--quick] [--only heads,log] [--write] [--out FILE] [--first]

Ends by itself: ten minutes at most and two with --quick. Exit code 1 where a goal is missed.
"""

import argparse
import contextlib
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tests.bench import machine
from tests.bench.__main__ import commit, prepare_environment
from tests.bench.hostile import goals as verdict
from tests.bench.hostile.attackers import NICE
from tests.bench.hostile.attacks import ATTACKS
from tests.bench.hostile.bombs import write_bombs
from tests.bench.hostile.installation import Site, a_site
from tests.bench.hostile.memory import resident
from tests.bench.hostile.phases import Phase, attacked, calm

PAGE = Path(__file__).resolve().parents[3] / "docs" / "measurements" / "hostile.md"
DEADLINE, QUICK_DEADLINE = 900, 420
"""Seconds after which the run is broken off, whatever it does."""
SECONDS, QUICK_SECONDS = 12.0, 4.0
REPEATS, QUICK_REPEATS = 2, 1
WARM_UP = 3.0
FIRST = -15
"""The nice value of sessions that go first."""


class OutOfTime(SystemExit):
    """The run took longer than its deadline, or was asked to end; asyncio lets nothing else through at once."""


def main(arguments: list[str]) -> int:
    asked = parse(arguments)
    begin_deadline(QUICK_DEADLINE if asked.quick else DEADLINE)
    prepare_environment()
    names = asked.only.split(",") if asked.only else list(ATTACKS)
    busy = machine.busy_share()
    head = head_of(busy, asked.quick, asked.first)
    print(head, flush=True)
    with tempfile.TemporaryDirectory(prefix="gc-bombs-") as folder:
        write_bombs(Path(folder))
        with a_site(folder) as site:
            if asked.first:
                go_first(site)
            run, is_over = play(site, names, asked.quick)
    goals = [
        *verdict.goals_of(run),
        verdict.Goal("the run is over in time", "yes" if is_over else "no", is_over),
    ]
    head += f" Load after the run {load()}."
    table = verdict.table_of(run)
    print(f"\n{table}\n{did(run.phases)}\n{slowest(run)}\n{verdict.goal_lines(goals)}", flush=True)
    missed = [goal for goal in goals if not goal.is_kept]
    print(f"{len(goals) - len(missed)} of {len(goals)} goals are kept")
    if asked.write:
        write_page(Path(asked.out) if asked.out else PAGE, head, table, run, goals)
    return 1 if missed else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hostile", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short stretches, one repeat")
    parser.add_argument("--only", help=f"attacks, with commas: {','.join(ATTACKS)}")
    parser.add_argument("--write", action="store_true", help="write docs/measurements/hostile.md")
    parser.add_argument("--out", help="with --write: another file")
    parser.add_argument(
        "--first",
        action="store_true",
        help="go before whatever else runs on this machine; wants root and autogroups",
    )
    asked = parser.parse_args(arguments)
    unknown = set((asked.only or "heads").split(",")) - set(ATTACKS)
    if unknown:
        parser.error(f"no such attack: {', '.join(sorted(unknown))}")
    return asked


def begin_deadline(seconds: int) -> None:
    """Out of time, a hang-up or a request to end: all leave through the same doors, and nothing stays behind."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        signal.alarm(0)
        raise OutOfTime(f"ended by {signal.Signals(number).name}")

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    signal.alarm(seconds)


def go_first(site: Site) -> None:
    """The kernel shares the cores among sessions: the product's and this run's, attackers included, come first."""
    for pid in (os.getpid(), *site.service_pids().values()):
        Path(f"/proc/{pid}/autogroup").write_text(str(FIRST))


def play(site: Site, names: list[str], is_quick: bool) -> tuple[verdict.Run, bool]:
    """A calm stretch before each attack: A B A C A … , and all of it again; whether the time was enough."""
    seconds = QUICK_SECONDS if is_quick else SECONDS
    turns = {ATTACKS[name].title: [name] for name in names}
    if len(names) > 1:
        turns[verdict.ALL] = names
    calm(site, 0, WARM_UP)
    before = resident(site.service_pids())
    phases: list[Phase] = []
    is_over = False
    with contextlib.suppress(OutOfTime):  # What was measured until then is shown.
        for number in range(QUICK_REPEATS if is_quick else REPEATS):
            for title, together in turns.items():
                phases.append(calm(site, number, seconds))
                phases.append(attacked(site, title, together, number, seconds))
                say(phases[-1])
        is_over = True
    return verdict.Run(phases, before, resident(site.service_pids())), is_over


def say(phase: Phase) -> None:
    print(
        f"  {phase.attack}: p99 {verdict.milliseconds(verdict.p99(phase.seen.latencies))}, "
        f"/health {verdict.milliseconds(max(phase.seen.health))} at worst, {phase.seen.server_errors} errors, "
        f"back after {verdict.back_after([phase])}",
        flush=True,
    )


def load() -> str:
    return ", ".join(f"{value:.2f}" for value in os.getloadavg())


def head_of(busy: float, is_quick: bool, is_first: bool) -> str:
    facts = machine.describe()
    first = (
        f" Product, people and attackers went before whatever else ran on the machine (their sessions nice {FIRST})."
        if is_first
        else ""
    )
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit()}{', the quick form' if is_quick else ''}. "
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_bytes'] / 1e9:.0f} GB, {facts['system']}, "
        f"kernel {facts['kernel']}, Python {facts['python']}. Others used {busy:.0%} of the cores before the run, "
        f"load {load()}. Attackers are a process of their own, nice {NICE}, and share the cores with the product."
        f"{first}"
    )


def did(phases: Sequence[Phase]) -> str:
    """What the attackers counted, one line for each attack."""
    lines = []
    for attack in dict.fromkeys(phase.attack for phase in phases if phase.attack):
        counted: Counter[str] = Counter()
        for phase in phases:
            if phase.attack == attack:
                for name, tally in phase.attackers["tallies"].items():
                    counted.update({f"{name}: {what}": number for what, number in tally.items()})
        told = ", ".join(f"{what} {number}" for what, number in sorted(counted.items()))
        lines.append(f"- {attack}: {told}")
    return "\n".join(lines) + "\n"


def slowest(run: verdict.Run) -> str:
    """The three slowest requests of others beside each attack, and without any."""
    lines = []
    for attack in ["", *run.attacks]:
        took = sorted((one for phase in run.of(attack) for one in phase.seen.took), reverse=True)[:3]
        told = ", ".join(f"{path} {verdict.milliseconds(seconds)}" for seconds, path in took)
        lines.append(f"- slowest, {attack or 'nobody attacks'}: {told}")
    return "\n".join(lines) + "\n"


def write_page(page: Path, head: str, table: str, run: verdict.Run, goals: list[verdict.Goal]) -> None:
    wrong = Counter(wrong for phase in run.phases for wrong in phase.seen.wrong)
    parts = [
        "# Hostile use",
        "Written by `python -m tests.bench.hostile --write` (tests/bench/hostile).",
        head,
        table,
        "## Goals",
        "".join(f"- {line}\n" for line in verdict.goal_lines(goals).splitlines()),
        "## What the attackers saw",
        did(run.phases),
        "## The slowest requests of others",
        slowest(run),
    ]
    if wrong:
        parts += ["## Errors", "".join(f"- {count} × {what}\n" for what, count in wrong.most_common(20))]
    page.write_text("\n\n".join(part.rstrip("\n") for part in parts) + "\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
