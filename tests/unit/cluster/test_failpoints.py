"""Calls to the outside have a failpoint before and one behind; without a listener they are the thing itself."""

import pytest

from cluster import failpoints


class Printer:
    pages = 3

    def print(self, text: str) -> str:
        return text.upper()

    def look(self) -> int:
        return self.pages


def test_every_call_is_named_twice_and_looking_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    points: list[str] = []
    monkeypatch.setattr(failpoints, "listener", points.append)
    printer = failpoints.wrap_calls(Printer(), "printer", frozenset({"look"}))
    assert (printer.print("a"), printer.look(), printer.pages) == ("A", 3, 3)
    assert points == ["printer.print asking", "printer.print answered"]


def test_without_a_listener_nothing_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failpoints, "listener", None)
    printer = Printer()
    assert failpoints.wrap_calls(printer, "printer") is printer
    failpoints.hit("anything")


def test_a_process_is_killed_the_time_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kills: list[int] = []
    monkeypatch.setattr("os.kill", lambda pid, signal: kills.append(signal))
    killer = failpoints.FailpointKiller("commit:2")
    for point in ("commit", "other", "commit", "commit"):
        killer(point)
    assert len(kills) == 1
