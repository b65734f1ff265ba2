"""The table, the raw data and the plots of one run, in docs/measurements."""

import subprocess
import sys
from pathlib import Path

from tests.bench.bench_run import BESIDE, DURABLE, HQ, OURS, RQ, SLURM, SLURM_PLAIN
from tests.bench.goals import GOALS, Goal
from tests.bench.results import Ledger, Series, load

DATA = "data/queue.json"
BY_HAND = "## What was missed, and why"
PLOTS = Path(__file__).with_name("plots.py")


def write(ledger: Ledger, folder: Path, environment: Path) -> None:
    ledger.save(folder / DATA)
    page = folder / "queue.md"
    kept = page.read_text().partition(BY_HAND)[2] if page.exists() else "\n\nNothing is written here yet.\n"
    drawn = draw(folder, environment)
    page.write_text(text_of(ledger, drawn) + BY_HAND + kept)


def draw(folder: Path, environment: Path) -> list[str]:
    """The names of the plots; in the environment that has what draws them."""
    python = str(environment / "bin" / "python")
    done = subprocess.run(
        [python, "-P", str(PLOTS), str(folder / DATA), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(f"the plots were not drawn: {done.stderr[-500:]}", file=sys.stderr)
        return []
    return done.stdout.split()


def text_of(ledger: Ledger, plots: list[str]) -> str:
    parts = [head_of(ledger), summary_of(ledger), *[f"![{name}]({name})\n" for name in plots]]
    parts += [table_of(ledger, measure) for measure in measures_of(ledger)]
    if ledger.missing:
        parts.append("## Not measured\n\n" + "".join(f"- {sentence}\n" for sentence in ledger.missing))
    return "\n".join(parts) + "\n"


def head_of(ledger: Ledger) -> str:
    facts, machine = ledger.facts, ledger.facts["machine"]
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in facts.get("seconds", {}).items())
    lines = [
        "# The queue beside its rivals",
        "",
        "Written by `make bench` (tests/bench); the raw values are in [data/queue.json](data/queue.json).",
        "",
        f"{facts['begun']}, commit {facts['commit']}{', the quick form' if facts['quick'] else ''}. "
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 1e9:.0f} GB, "
        f"{machine['system']}, kernel {machine['kernel']}, Python {machine['python']}. "
        f"A synced write of 4 KiB takes {machine['fsync_seconds'] * 1000:.2f} ms here: durable figures are an upper "
        "bound for slower disks, so compare only within this page.",
        "",
        f"Others used {facts['busy']:.1%} of the cores before the run. All contenders in one run, in turn (A B A B), "
        "each as its manual says; cells show the median of the repeats and, in brackets, the lowest and the highest "
        f"repeat. It took {took}.",
        "",
    ]
    if "anyway" in facts:
        lines += [
            f"**The machine was not idle: {facts['anyway']}. These figures are not to be compared.**",
            "",
        ]
    lines += [
        f"- {measure} was measured again: {moment['begun']}, commit {moment['commit']}"
        for measure, moment in facts.get("again", {}).items()
    ]
    for name, tuning in facts.get("tuning", {}).items():
        told = ", ".join(f"{key} = {value}" for key, value in tuning.items())
        lines.append(f"- {name}: {told}")
    versions = ", ".join(facts.get("versions", {}).values())
    lines += [f"- versions: {versions}"]
    lines += [
        f"- {name}: {note}"
        for name, note in DURABLE.items()
        if any(s.contender == name for s in ledger.series)
    ]
    return "\n".join(lines) + "\n"


def summary_of(ledger: Ledger) -> str:
    """One line per goal; judged on PostgreSQL, SQLite beside it."""
    lines = [
        "## Goals",
        "",
        "| | goal | ours | SQLite | Slurm, tuned | ours : Slurm | others | verdict |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    lines += [line for goal in GOALS if (line := line_of(ledger, goal))]
    return "\n".join(lines) + "\n"


def line_of(ledger: Ledger, goal: Goal) -> str | None:
    ours = goal.read(ledger, OURS)
    beside = goal.read(ledger, BESIDE)
    if ours is None and beside is None:
        return None
    theirs = goal.read(ledger, SLURM)
    others = [
        f"{contender} {show(value, goal.unit)}"
        for contender in (SLURM_PLAIN, f"{SLURM}, srun", HQ, RQ)
        if (value := goal.read(ledger, contender)) is not None
    ]
    cells = [
        goal.measure,
        goal.text,
        show(ours, goal.unit),
        show(beside, goal.unit),
        show(theirs, goal.unit),
        f"{ours / theirs:.2g}" if ours and theirs else "",
        ", ".join(others),
        "" if ours is None else "kept" if goal.is_kept(ours) else "**missed**",
    ]
    return f"| {' | '.join(cells)} |"


def measures_of(ledger: Ledger) -> list[str]:
    """In the order of the goals, also where some were taken again later; each with its side tables."""
    order = list(dict.fromkeys(goal.measure for goal in GOALS))
    named = dict.fromkeys(series.measure for series in ledger.series)
    return sorted(named, key=lambda name: (order.index(name.partition(",")[0]), "," in name))


def table_of(ledger: Ledger, measure: str) -> str:
    """Every case of a measure, a column for each contender."""
    mine = [series for series in ledger.series if series.measure == measure]
    contenders = list(dict.fromkeys(series.contender for series in mine))
    cases = list(dict.fromkeys(series.case for series in mine))
    lines = [f"## {measure}", "", f"| | {' | '.join(contenders)} |", f"|---|{'---:|' * len(contenders)}"]
    for case in cases:
        found = [ledger.find(measure, case, contender) for contender in contenders]
        lines.append(f"| {case} | {' | '.join(cell_of(series) for series in found)} |")
    return "\n".join(lines) + "\n"


def cell_of(series: Series | None) -> str:
    if series is None:
        return ""
    low, high = (show(value, series.unit) for value in series.spread)
    if series.kind == "latency":
        return f"p50 {show(series.percentile(0.5), 's')} [{low} … {high}], p99 {show(series.percentile(0.99), 's')}"
    return f"{show(series.median, series.unit)} [{low} … {high}]"


def show(value: float | None, unit: str) -> str:
    """Three digits, and milliseconds where seconds are short."""
    if value is None:
        return ""
    if unit == "s" and abs(value) < 1:
        value, unit = value * 1000, "ms"
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits}{'' if unit == '/s' or not unit else ' '}{unit}".strip()


def say(ledger: Ledger, measure: str) -> None:
    """What the terminal shows after each measure."""
    for series in ledger.series:
        if series.measure.partition(",")[0] == measure:
            print(f"     {series.measure}: {series.case}: {series.contender}: {cell_of(series)}", flush=True)


if __name__ == "__main__":
    # Writes the page again from the raw data: python -m tests.bench.report docs/measurements
    from tests.bench.baselines.environment import ensure_rivals

    folder = Path(sys.argv[1])
    write(load(folder / DATA), folder, ensure_rivals())
