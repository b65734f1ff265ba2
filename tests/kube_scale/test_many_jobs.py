"""5,000 jobs on 50 simulated nodes: each runs once, and what is asked of the API server does not grow with them."""

import os
from pathlib import Path

import pytest

from tests.bench.kubernetes.throughput import measure
from tests.kubernetes.compiled_programs import NOT_BUILT, NotCompiled, find_programs
from tests.kwok.program import compile_kwok

TABLE = Path(__file__).resolve().parents[2] / "docs" / "measurements" / "kubernetes.md"
JOBS, NODES, SECONDS = 5_000, 50, 10.0
MOST_REQUESTS = 8.0
"""Of our scheduler per job, its looks at everything and what it keeps for workspaces included."""


@pytest.mark.long
def test_thousands_of_jobs_run_once_each(capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("Kubernetes not asked: only root can give Kueue an /etc of its own")
    try:
        find_programs("kube-apiserver", "kube-scheduler")
    except NotCompiled:
        pytest.skip(f"Kubernetes not asked: {NOT_BUILT}")
    compile_kwok()
    played = measure(JOBS, NODES, SECONDS)
    line = played.line()
    with capsys.disabled():
        print(f"\n{line}")
    write_down(line)
    assert played.requests <= MOST_REQUESTS, played.asked


def write_down(line: str) -> None:
    """Below the last row of the first table."""
    lines = TABLE.read_text().splitlines()
    last = max(
        number for number, each in enumerate(lines[: lines.index("## Overhead")]) if each.startswith("|")
    )
    TABLE.write_text("\n".join([*lines[: last + 1], line, *lines[last + 1 :]]) + "\n")
