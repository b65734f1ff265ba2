"""Print the progress of a repair run: each task of each host as it ends, then the checks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cluster.domain.repairs.definition import Repair
from cluster.domain.repairs.run_matrix import HostTaskState, RepairVerdict
from cluster.services.context import Cluster
from worker.console.prompt import bilingual_text, print_line, terminal_sentence, terminal_text


def verdict_name(verdict: RepairVerdict) -> str:
    return {
        RepairVerdict.VERIFIED: terminal_text("Verified"),
        RepairVerdict.NOT_VERIFIED: terminal_text("Not verified"),
        RepairVerdict.CANCELLED: terminal_text("Cancelled"),
        RepairVerdict.BROKEN: terminal_text("Did not run"),
        RepairVerdict.DRY_RUN: terminal_text("Looked ahead"),
    }[verdict]


def host_task_state_name(cell: str) -> str:
    return {
        HostTaskState.RUNNING: terminal_text("at work"),
        HostTaskState.OK: terminal_text("ok"),
        HostTaskState.CHANGED: terminal_text("changed"),
        HostTaskState.SKIPPED: terminal_text("skipped"),
        HostTaskState.FAILED: terminal_text("failed"),
        HostTaskState.UNREACHABLE: terminal_text("unreachable"),
        HostTaskState.NOT_RUN: terminal_text("not run"),
    }[HostTaskState(cell)]


class ProgressTable:
    """Prints what is new since it was last shown."""

    def __init__(self, repair: Repair | None) -> None:
        self.names = {task.en: bilingual_text(task) for task in repair.tasks} if repair else {}
        self.shown_cells: dict[tuple[str, str], str] = {}

    def show(self, tasks: Iterable[Mapping[str, Any]]) -> None:
        for task in tasks:
            for host, cell in task["hosts"].items():
                if self.shown_cells.get((task["name"], host)) != cell:
                    self.shown_cells[task["name"], host] = cell
                    self.show_cell(task, host, cell)

    def show_cell(self, task: Mapping[str, Any], host: str, cell: str) -> None:
        seconds = task.get("seconds")
        took = "" if cell == HostTaskState.RUNNING or seconds is None else f" {seconds:.1f} s"
        print_line(
            f"  [{host_task_state_name(cell)}{took}] {host}: {self.names.get(task['name'], task['name'])}"
        )
        for said_line in (task.get("output") or {}).get(host, "").splitlines():
            print_line(f"      {said_line}")


def show_check_results(cluster: Cluster, answers: Sequence[Mapping[str, Any]]) -> None:
    for each in answers:
        mark = terminal_text("ok") if each["is_ok"] else terminal_text("failed")
        print_line(
            f"  [{mark}] {terminal_sentence(cluster, str(each['code']), dict(each.get('data') or {}))}"
        )
