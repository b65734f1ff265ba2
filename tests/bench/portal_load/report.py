"""The table of one run of the portal's measures and the figures behind it, in docs/measurements.

python -m tests.bench.portal_load.report docs/measurements      writes the page again from the figures
"""

import sys
from pathlib import Path

from tests.bench.bench_run import BESIDE, OURS
from tests.bench.portal_load.goals import GOALS
from tests.bench.report import show, table_of
from tests.bench.results import Ledger, load

DATA = "data/portal.json"
PAGE = "portal.md"
BY_HAND = "## Before, and what was missed"


def write(ledger: Ledger, folder: Path) -> None:
    """What is written by hand under the last heading stays."""
    ledger.summarized().save(folder / DATA)
    page = folder / PAGE
    kept = page.read_text().partition(BY_HAND)[2] if page.exists() else "\n\nNothing is written here yet.\n"
    page.write_text(text_of(ledger) + BY_HAND + kept)


def text_of(ledger: Ledger) -> str:
    parts = [head_of(ledger), summary_of(ledger), *(table_of(ledger, name) for name in measures_of(ledger))]
    if ledger.missing:
        parts.append("## Not measured\n\n" + "".join(f"- {sentence}\n" for sentence in ledger.missing))
    return "\n".join(parts) + "\n"


def head_of(ledger: Ledger) -> str:
    facts, machine = ledger.facts, ledger.facts["machine"]
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in facts.get("seconds", {}).items())
    lines = [
        "# The portal at full size",
        "",
        "Written by `make bench` (tests/bench/portal_load); median, lowest and highest of each repeat and "
        "percentiles: [data/portal.json](data/portal.json).",
        "",
        f"{facts['begun']}, commit {facts['commit']}{', the quick form' if facts['quick'] else ''}. "
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 1e9:.0f} GB, "
        f"{machine['system']}, kernel {machine['kernel']}, Python {machine['python']}. "
        f"Others used {facts['busy']:.1%} of the cores before the run. Cells show the median of the repeats and, in "
        "brackets, the lowest and the highest repeat. Clients, jobs and heartbeats run on the same cores. "
        f"Logs were followed for {facts.get('tail seconds', 0):.0f} s. It took {took}.",
        "",
    ]
    if "anyway" in facts:
        lines += [
            f"**The machine was not idle: {facts['anyway']}. These figures are not to be compared.**",
            "",
        ]
    lines += [
        f"- {measure}: {busy:.0%} of the machine was in use by others just before"
        for measure, busy in facts.get("busy before", {}).items()
    ]
    lines += [
        f"- {measure} was measured again: {moment['begun']}, commit {moment['commit']}"
        for measure, moment in facts.get("again", {}).items()
    ]
    return "\n".join(lines) + "\n"


def summary_of(ledger: Ledger) -> str:
    """One line per goal; kept where both databases keep it, as far as they were measured."""
    lines = ["## Goals", "", "| | goal | PostgreSQL | SQLite | verdict |", "|---|---|---:|---:|---|"]
    for goal in GOALS:
        values = [goal.read(ledger, contender) for contender in (OURS, BESIDE)]
        measured = [value for value in values if value is not None]
        if measured:
            verdict = "kept" if all(goal.is_kept(value) for value in measured) else "**missed**"
            cells = [goal.measure, goal.text, *(show(value, goal.unit) for value in values), verdict]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def measures_of(ledger: Ledger) -> list[str]:
    """In the order of the goals, each with its side tables."""
    order = list(dict.fromkeys(goal.measure for goal in GOALS))
    named = dict.fromkeys(series.measure for series in ledger.series)
    return sorted(named, key=lambda name: (order.index(name.partition(",")[0]), "," in name))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write(load(target / DATA), target)
