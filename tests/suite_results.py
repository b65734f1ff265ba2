"""Prints the closing table of the parts, and writes that of the whole suite in docs/measurements."""

import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "measurements" / "test-all.md"
BEGINNING = """# The whole suite

Written by `make test-all`: everything of `make test`, the cases that it leaves out, a newcomer's way on a bare machine
and `site.yml` on bare hosts. Seconds on the wall; they mean something where the machine had nothing else to do.

| commit | date | part | seconds | passed | failed | skipped | verdict |
|---|---|---|---:|---:|---:|---:|---|
"""


@dataclass(frozen=True)
class Verdict:
    """What one part came to; a check counts as one test."""

    part: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    left: int = 0
    """Cases that only `make test-all` plays."""

    @property
    def is_green(self) -> bool:
        return self.failed == 0


def of_report(part: str, report: Path, code: int, seconds: float, left: int) -> Verdict:
    """Out of pytest's own report; a run that ended badly without a failed test has failed all the same."""
    if not report.exists():
        return Verdict(part, 0, 1, 0, seconds, left)
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in ElementTree.parse(report).iter("testsuite"):
        for name in counts:
            counts[name] += int(suite.get(name, "0"))
    failed = counts["failures"] + counts["errors"]
    passed = max(0, counts["tests"] - failed - counts["skipped"])
    return Verdict(part, passed, failed or int(code != 0), counts["skipped"], seconds, left)


def close(verdicts: Sequence[Verdict]) -> int:
    """Print seconds per part and the closing lines; 0 only where something ran and nothing failed."""
    print("\npart          seconds   passed   failed   skipped   left to make test-all")
    for each in verdicts:
        counts = f"{each.passed:8} {each.failed:8} {each.skipped:9} {each.left:8}"
        print(f"{each.part:<12} {each.seconds:8.0f} {counts}{'' if each.is_green else '   <-- failed'}")
    passed, failed, skipped, left = (
        sum(getattr(each, name) for each in verdicts) for name in ("passed", "failed", "skipped", "left")
    )
    seconds = sum(each.seconds for each in verdicts)
    print(f"in all       {seconds:8.0f} = {seconds / 60:.1f} minutes\n")
    if left:
        print(f"{left} long cases are left to make test-all")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 0 if passed and not failed else 1


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def write_down(verdicts: Sequence[Verdict]) -> None:
    """A line for each part; those of earlier runs stay."""
    # The run itself writes measurements, which make its commit no other one.
    changed = git("status", "--porcelain", "--", ".", ":!docs/measurements")
    commit = git("describe", "--always") + ("-dirty" if changed else "")
    told = TABLE.read_text() if TABLE.exists() else BEGINNING
    for each in verdicts:
        counts = f"{each.passed} | {each.failed} | {each.skipped} | {'passed' if each.is_green else 'failed'}"
        told += f"| {commit} | {datetime.now(UTC):%Y-%m-%d} | {each.part} | {each.seconds:.0f} | {counts} |\n"
    TABLE.write_text(told)
    print(f"written to {TABLE.relative_to(ROOT)}")
