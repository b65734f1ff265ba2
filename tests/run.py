"""Runs the parts of the test suite in turn and says what each cost: ``python -m tests.run all``.

Cases that bear the mark `long` are left to ``--long`` and ``--whole``. The latter, that of ``make test-all``,
writes docs/measurements/test-all.md. The closing lines count every test, also those that were left.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.suite_parts import ALL, CHECKS_PART, Part, find
from tests.suite_results import Verdict, close, of_report, write_down

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "tests" / "output"
COVERAGE_OF_CLUSTER = 95

PREPARATIONS = {
    "environment": [sys.executable, "-m", "worker.environments", "build"],
    "image": [sys.executable, "-m", "tests.containers.image"],
}
"""The training environment of this machine, and the image of the tests that run containers."""
REQUIRED = ("environment",)

CHECKS = {
    "ansible-lint": ["python", "-m", "tests.lint"],
    "yamllint": ["yamllint", "--strict", "."],
    "ruff": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "imports": ["lint-imports"],
}


@dataclass(frozen=True)
class CheckResult:
    """`text` is what it printed, with the command and its seconds above."""

    is_green: bool
    text: str


def main(arguments: list[str]) -> int:
    is_whole = "--whole" in arguments
    has_long = is_whole or "--long" in arguments
    chosen = [part for name in arguments if not name.startswith("--") for part in find(name)]
    parts = [part for part in chosen if part.folders]
    OUTPUT.mkdir(exist_ok=True)
    for old in OUTPUT.glob("coverage.*"):
        old.unlink()
    verdicts: list[Verdict] = []
    preparing = start_preparations() if any(part.trains for part in parts) else {}
    with ThreadPoolExecutor(1) as pool:
        checking = [pool.submit(run_checks)] if parts != chosen else []
        for part in parts:
            if part.trains:
                verdicts += finish_preparations(preparing)
                preparing = {}
            verdicts.append(run_part(part, has_long, is_whole))
            verdicts += finish_checks(checking)
            checking = []
        verdicts += finish_checks(checking)
    if is_whole and set(ALL) <= set(parts) | {CHECKS_PART}:
        verdicts.append(check_coverage())
    if is_whole:
        write_down(verdicts)
    return close(verdicts)


def start_preparations() -> "dict[str, subprocess.Popen[bytes]]":
    """Begins what takes minutes on a machine that has never tested, at low priority beside the parts that need none.

    It takes nothing from then on.
    """
    started = {}
    for name, command in PREPARATIONS.items():
        with preparation_log(name).open("wb") as output:
            started[name] = subprocess.Popen(
                ["nice", "-n", "10", *command], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
            )
    return started


def finish_preparations(started: "dict[str, subprocess.Popen[bytes]]") -> list[Verdict]:
    """The seconds are those that the suite had to wait. Tests say themselves why they run without an image."""
    verdicts = []
    for name, process in started.items():
        print(f"\n=== {name}", flush=True)
        began = time.monotonic()
        green = process.wait() == 0 or name not in REQUIRED
        print(preparation_log(name).read_text(errors="replace"), end="", flush=True)
        verdicts.append(Verdict(name, int(green), int(not green), 0, time.monotonic() - began))
    return verdicts


def preparation_log(name: str) -> Path:
    return OUTPUT / f"{name}.log"


def run_checks() -> list[CheckResult]:
    """The checks run beside the first part of the tests: one of them keeps a core for most of a minute."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run_check, CHECKS))


def run_check(name: str) -> CheckResult:
    started = time.monotonic()
    done = subprocess.run(
        ["nice", "-n", "5", *CHECKS[name]],
        cwd=ROOT,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    title = f"--- {name}: {' '.join(CHECKS[name])} ({time.monotonic() - started:.0f} s)"
    return CheckResult(done.returncode == 0, f"{title}\n{done.stdout}")


def finish_checks(started: Sequence[Future[list[CheckResult]]]) -> list[Verdict]:
    """The seconds are those that the suite had to wait."""
    verdicts = []
    for future in started:
        began = time.monotonic()
        results = future.result()
        print(f"\n=== {CHECKS_PART.name}\n{''.join(each.text for each in results)}", end="", flush=True)
        passed = sum(each.is_green for each in results)
        verdicts.append(Verdict(CHECKS_PART.name, passed, len(results) - passed, 0, time.monotonic() - began))
    return verdicts


def run_part(part: Part, has_long: bool, counts_lines: bool) -> Verdict:
    print(f"\n=== {part.name}", flush=True)
    name = part.name.replace("/", "-")
    report, left = OUTPUT / f"{name}.xml", OUTPUT / f"{name}.left"
    for old in (report, left):
        old.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "COVERAGE_FILE": str(OUTPUT / f"coverage.{name}"),
        "GROUNDCREW_CASES_LEFT": str(left),
    }
    started = time.monotonic()
    code = subprocess.run(
        command_for(part, report, has_long, counts_lines), cwd=ROOT, env=environment, check=False
    ).returncode
    seconds = time.monotonic() - started
    return of_report(part.name, report, code, seconds, int(left.read_text()) if left.exists() else 0)


def command_for(part: Part, report: Path, has_long: bool, counts_lines: bool) -> list[str]:
    command = ["pytest", "-q", *(f"tests/{folder}" for folder in part.folders), f"--junitxml={report}"]
    command += [f"--ignore=tests/{folder}" for folder in part.without]
    command += ["--durations=8", "--durations-min=3"]
    command += [] if has_long else ["-m", "not long"]
    command += [f"--numprocesses={part.processes}", f"--dist={part.deal}"] if part.deal else []
    command += ["--cov=cluster", "--cov-report="] if counts_lines and part.is_measured else []
    return command


def check_coverage() -> Verdict:
    """All measured parts together must reach the promised share of cluster/."""
    files = [str(each) for each in sorted(OUTPUT.glob("coverage.*"))]
    print("\n=== coverage of cluster/", flush=True)
    environment = {**os.environ, "COVERAGE_FILE": str(OUTPUT / "coverage")}
    started = time.monotonic()
    subprocess.run(["coverage", "combine", "-q", *files], cwd=ROOT, env=environment, check=True)
    report = ["coverage", "report", "--skip-covered", "--show-missing", f"--fail-under={COVERAGE_OF_CLUSTER}"]
    green = subprocess.run(report, cwd=ROOT, env=environment, check=False).returncode == 0
    return Verdict("coverage", int(green), int(not green), 0, time.monotonic() - started)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
