"""No regular expression is given a text on which it begins again at every letter."""

import json
import subprocess
import sys

from cluster.domain.environments import build_failures
from tests import regular_expressions
from tests.regular_expressions import ROOT, Pattern

LINE_BYTES = 32 * 1024
"""Four times as long would take the patterns that are well four times as long, and the others sixteen times."""


def slow_ones(*texts: str) -> list[str]:
    command = [sys.executable, "-m", "tests.regular_expressions", str(LINE_BYTES), *texts]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_every_pattern_of_the_product_ends_on_long_lines() -> None:
    assert slow_ones() == []


def test_patterns_of_a_table_that_read_what_build_scripts_wrote_end_too() -> None:
    assert slow_ones(*(pattern for _, pattern in (*build_failures.CAUSES, *build_failures.OUTSIDE))) == []


def test_the_patterns_of_the_product_are_found() -> None:
    places = {pattern.where for pattern in regular_expressions.all_patterns()}
    assert len(places) > 60
    assert {
        "portal/job_files/logs/log_search.py:WARNING",
        "worker/inside/shim_result.py:OOM_KILL_LINE",
        "cluster/domain/kubernetes/kueue_messages.py:UNFIT",
    } <= places


def test_a_pattern_that_begins_again_at_every_letter_is_named() -> None:
    bad = [r"[A-Z]\w*Warning:", r"to (.+?) in", r"at \S*?([^/]+);"]
    assert slow_ones(*bad, r"\b[A-Z]\w{0,60}Warning:") == bad


def test_samples_are_what_a_pattern_begins_with() -> None:
    assert set(regular_expressions.beginnings(r"Killed (\d+) \(")) >= {"Killed 0 (", "Kil"}
    assert Pattern("here", "a", 0, anchored=True).anchored
