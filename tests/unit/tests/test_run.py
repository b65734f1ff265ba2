"""The suite prepares the machine and runs the checks beside the parts that need neither, and waits where it must."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import run
from tests.suite_parts import CHECKS_PART, Part
from tests.suite_results import Verdict

PARTS = (
    CHECKS_PART,
    Part("store", ("store",)),
    Part("integration", ("integration",), trains=True),
    Part("browser", ("browser",), trains=True),
)


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was begun and ended, in turn; nothing is really run."""
    order: list[str] = []

    def begin() -> dict[str, object]:
        order.append("begin")
        return {"environment": None}

    def finish(started: dict[str, object]) -> list[Verdict]:
        order.extend(f"wait for {name}" for name in started)
        return []

    def play(part: Part, has_long: bool, counts_lines: bool) -> Verdict:
        order.append(part.name)
        return Verdict(part.name, 1, 0, 0, 0.0)

    parts = {part.name: [part] for part in PARTS}

    def check() -> list[run.CheckResult]:
        order.append("checks")
        return [run.CheckResult(is_green=True, text="")]

    replaced: dict[str, Callable[..., object]] = {
        "start_preparations": begin,
        "finish_preparations": finish,
        "run_part": play,
        "run_checks": check,
        "find": parts.__getitem__,
    }
    for name, function in replaced.items():
        monkeypatch.setattr(run, name, function)
    return order


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["store", "integration", "browser"],
            ["begin", "store", "wait for environment", "integration", "browser"],
        ),
        (["integration"], ["begin", "wait for environment", "integration"]),
        (["store"], ["store"]),
    ],
)
def test_a_part_that_trains_waits_for_what_began_before_the_first_part(
    order: list[str], names: list[str], expected: list[str]
) -> None:
    assert run.main(names) == 0
    assert order == expected


def test_the_checks_begin_beside_the_first_part(order: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["sure", "store", "integration"]) == 0
    assert sorted(order[:3]) == ["begin", "checks", "store"]
    assert order[3:] == ["wait for environment", "integration"]
    told = capsys.readouterr().out
    assert "=== sure" in told and "3 passed, 0 failed" in told


def test_a_check_that_fails_fails_the_suite_and_shows_what_it_wrote(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "CHECKS", {"ruff": ["sh", "-c", "echo line too long; exit 1"], "mypy": ["true"]})
    assert run.main(["sure"]) == 1
    told = capsys.readouterr().out
    assert "line too long" in told and "1 passed, 1 failed" in told


@pytest.mark.parametrize(("name", "is_green"), [("environment", False), ("image", True)])
def test_only_what_no_test_can_do_without_fails_the_suite(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    name: str,
    is_green: bool,
) -> None:
    monkeypatch.setattr(run, "OUTPUT", tmp_path)
    monkeypatch.setattr(run, "PREPARATIONS", {name: ["sh", "-c", "echo no engine here; exit 1"]})
    (verdict,) = run.finish_preparations(run.start_preparations())
    assert verdict.is_green is is_green
    assert "no engine here" in capsys.readouterr().out
