"""A run on paper: each task of each host as it ends, then what the checks say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cluster.domain.repair_runs import Cell, Verdict
from cluster.domain.repairs import Repair
from cluster.services.context import Cluster
from worker.console.terminal import in_words, line, said, text


def verdict_word(verdict: Verdict) -> str:
    return {
        Verdict.VERIFIED: text("Verified"),
        Verdict.NOT_VERIFIED: text("Not verified"),
        Verdict.CANCELLED: text("Cancelled"),
        Verdict.BROKEN: text("Did not run"),
        Verdict.LOOKED_AHEAD: text("Looked ahead"),
    }[verdict]


def cell_word(cell: str) -> str:
    return {
        Cell.RUNNING: text("at work"),
        Cell.OK: text("ok"),
        Cell.CHANGED: text("changed"),
        Cell.SKIPPED: text("skipped"),
        Cell.FAILED: text("failed"),
        Cell.UNREACHABLE: text("unreachable"),
        Cell.NOT_RUN: text("not run"),
    }[Cell(cell)]


class Matrix:
    """Prints what is new since it was last shown."""

    def __init__(self, repair: Repair | None) -> None:
        self.names = {task.en: in_words(task) for task in repair.tasks} if repair else {}
        self.known: dict[tuple[str, str], str] = {}

    def show(self, tasks: Iterable[Mapping[str, Any]]) -> None:
        for task in tasks:
            for host, cell in task["hosts"].items():
                if self.known.get((task["name"], host)) != cell:
                    self.known[task["name"], host] = cell
                    self.show_cell(task, host, cell)

    def show_cell(self, task: Mapping[str, Any], host: str, cell: str) -> None:
        seconds = task.get("seconds")
        took = "" if cell == Cell.RUNNING or seconds is None else f" {seconds:.1f} s"
        line(f"  [{cell_word(cell)}{took}] {host}: {self.names.get(task['name'], task['name'])}")
        for said_line in (task.get("output") or {}).get(host, "").splitlines():
            line(f"      {said_line}")


def show_checks(cluster: Cluster, answers: Sequence[Mapping[str, Any]]) -> None:
    for each in answers:
        mark = text("ok") if each["is_ok"] else text("failed")
        line(f"  [{mark}] {said(cluster, str(each['code']), dict(each.get('data') or {}))}")
