"""The suite prepares the machine beside the parts that need no preparation, and waits before the first that does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import run
from tests.suite_parts import Part
from tests.suite_results import Verdict

PARTS = (
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
    replaced: dict[str, Callable[..., object]] = {
        "start_preparations": begin,
        "finish_preparations": finish,
        "run_part": play,
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
