"""Runs the parts of the test suite in turn and says what each cost: ``python -m tests.run all``.

The closing line counts every test of every part. A part without a test yet is left out and named.
"""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "tests" / "output"
COVERAGE_OF_CLUSTER = 95

CHECKS = {
    "ansible-lint": ["python", "-m", "tests.lint"],
    "yamllint": ["yamllint", "--strict", "."],
    "ruff": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "imports": ["lint-imports"],
}
ALL = ("sure", "unit", "store", "crash", "integration", "browser", "training")
SIDE_BY_SIDE = {
    "unit": "load",
    "store": "load",
    "crash": "loadgroup",
    "integration": "loadfile",
    "browser": "loadfile",
}
"""Parts for both cores, and how their tests are dealt out: files with an installation of their own stay whole."""
TRAINS = {"integration", "browser", "training"}
"""The parts with real trainings: their environment is built before, so that no test waits for a compiler."""
MEASURED = ("unit", "store", "integration")
"""The parts whose lines of cluster/ count for coverage, once all of them have run."""


@dataclass(frozen=True)
class Result:
    """What one part came to; a check counts as one test."""

    part: str
    passed: int
    failed: int
    skipped: int
    seconds: float

    @property
    def is_green(self) -> bool:
        return self.failed == 0


def main(arguments: list[str]) -> int:
    parts = [part for name in arguments for part in (ALL if name == "all" else (name,))]
    OUTPUT.mkdir(exist_ok=True)
    for old in OUTPUT.glob("coverage.*"):
        old.unlink()
    results: list[Result | None] = [prepare_environment()] if TRAINS & set(parts) else []
    results += [run_part(part) for part in parts]
    if set(MEASURED) <= set(parts):
        results.append(check_coverage())
    return close([result for result in results if result is not None])


def run_part(part: str) -> Result | None:
    print(f"\n=== {part}", flush=True)
    if part == "sure":
        return run_checks()
    folder = ROOT / "tests" / part
    if not any(folder.glob("**/test_*.py")):
        print(f"no tests in tests/{part} yet")
        return None
    return run_pytest(part, folder)


def prepare_environment() -> Result:
    """Minutes on a machine that has none, nothing from then on."""
    print("\n=== environment: the training environment of this machine", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "worker.environments", "build"]
    green = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    return Result("environment", int(green), int(not green), 0, time.monotonic() - started)


def run_checks() -> Result:
    started = time.monotonic()
    # Two at a time: one check is as long as all the others.
    with ThreadPoolExecutor(2) as pool:
        failed = [name for name, green in zip(CHECKS, pool.map(passes, CHECKS), strict=True) if not green]
    return Result("sure", len(CHECKS) - len(failed), len(failed), 0, time.monotonic() - started)


def passes(name: str) -> bool:
    started = time.monotonic()
    done = subprocess.run(
        CHECKS[name], cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    title = f"--- {name}: {' '.join(CHECKS[name])} ({time.monotonic() - started:.0f} s)"
    print(f"{title}\n{done.stdout}", end="", flush=True)
    return done.returncode == 0


def run_pytest(part: str, folder: Path) -> Result:
    report = OUTPUT / f"{part}.xml"
    report.unlink(missing_ok=True)
    command = ["pytest", "-q", str(folder), f"--junitxml={report}", "--durations=8", "--durations-min=3"]
    if part in SIDE_BY_SIDE:
        command += ["--numprocesses=2", f"--dist={SIDE_BY_SIDE[part]}"]
    if part in MEASURED:
        command += ["--cov=cluster", "--cov-report="]
    environment = {**os.environ, "COVERAGE_FILE": str(OUTPUT / f"coverage.{part}")}
    started = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    seconds = time.monotonic() - started
    if not report.exists():
        return Result(part, 0, 1, 0, seconds)
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in ElementTree.parse(report).iter("testsuite"):
        for name in counts:
            counts[name] += int(suite.get(name, "0"))
    failed = counts["failures"] + counts["errors"]
    if code != 0 and failed == 0:
        failed = 1
    passed = max(0, counts["tests"] - failed - counts["skipped"])
    return Result(part, passed, failed, counts["skipped"], seconds)


def check_coverage() -> Result | None:
    """All measured parts together must reach the promised share of cluster/."""
    files = [str(each) for each in sorted(OUTPUT.glob("coverage.*"))]
    if not files:
        return None
    print("\n=== coverage of cluster/", flush=True)
    environment = {**os.environ, "COVERAGE_FILE": str(OUTPUT / "coverage")}
    started = time.monotonic()
    subprocess.run(["coverage", "combine", "-q", *files], cwd=ROOT, env=environment, check=True)
    report = ["coverage", "report", "--skip-covered", "--show-missing", f"--fail-under={COVERAGE_OF_CLUSTER}"]
    green = subprocess.run(report, cwd=ROOT, env=environment, check=False).returncode == 0
    return Result("coverage", int(green), int(not green), 0, time.monotonic() - started)


def close(results: list[Result]) -> int:
    """Print minutes per part and the closing line; 0 only where something ran and nothing failed."""
    print("\npart          minutes   passed   failed   skipped")
    for each in results:
        counts = f"{each.passed:8} {each.failed:8} {each.skipped:9}"
        print(f"{each.part:<12} {each.seconds / 60:8.1f} {counts}{'' if each.is_green else '   <-- failed'}")
    passed, failed = sum(each.passed for each in results), sum(each.failed for each in results)
    skipped = sum(each.skipped for each in results)
    print(f"in all       {sum(each.seconds for each in results) / 60:8.1f}\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
