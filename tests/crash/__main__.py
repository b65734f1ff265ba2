"""The whole sweep on both databases: ``make crash``; writes docs/measurements/crashes.md.

``python -m tests.crash sqlite 361`` plays one death again and prints what the processes said.
"""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from tests.crash.full_sweep import a_ground, sweep_on
from tests.crash.scenario.main_scenario import MAIN
from tests.crash.sweep import Report, one_run

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "measurements" / "crashes.md"
KINDS = ("sqlite", "postgresql")


def main(arguments: list[str]) -> int:
    if len(arguments) > 1:
        return play_again(arguments[0], [int(number) for number in arguments[1:]])
    with ProcessPoolExecutor(len(KINDS), mp_context=get_context("spawn")) as side_by_side:
        reports = [report for swept in side_by_side.map(sweep_on, KINDS) for report in swept]
    write_table(reports)
    rest = subprocess.run(
        ["pytest", "-q", "tests/crash"], cwd=ROOT, env={**os.environ, "CRASH": "whole"}, check=False
    )
    wrong = sum(len(report.wrong) for report in reports)
    points = len(set().union(*(report.points for report in reports)))
    print(f"{points} points, {sum(report.kills for report in reports)} kills, {wrong} violations")
    return 1 if wrong or rest.returncode else 0


def play_again(kind: str, deaths: list[int]) -> int:
    with a_ground(kind) as ground:
        finding = one_run(ground, MAIN, deaths)
        print((ground.folder / "children.log").read_text())
        for told in ground.journal.read():
            print(told)
        print(finding.point, *finding.wrong, sep="\n  ")
    return 1 if finding.wrong else 0


def write_table(reports: list[Report]) -> None:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    lines = [
        "# Deaths at every point",
        "",
        f"Written by `make crash` on {datetime.now(UTC):%Y-%m-%d} at commit {commit}.",
        "What is done and checked: [crashes](../developing/crashes.md).",
        "",
        "| what | database | points | deaths or acts | right again within | violations | seconds | seeds |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for report in reports:
        slowest = max((finding.seconds_to_right for finding in report.findings), default=0.0)
        seeds = f"{report.seeds[0]}–{report.seeds[-1]}" if report.seeds else ""
        lines.append(
            f"| {report.title} | {report.database} | {len(report.points)} | {report.kills} |"
            f" {slowest:.0f} s of the world's time | {len(report.wrong)} | {report.seconds:.0f} | {seeds} |"
        )
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
