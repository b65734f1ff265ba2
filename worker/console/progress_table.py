"""Print the progress of a repair run: each task of each host as it ends, then the checks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cluster import words
from cluster.domain.repairs.definition import Repair
from cluster.domain.repairs.run_matrix import HostTaskState, RepairVerdict
from cluster.services.context import Cluster
from worker.bootstrap.terminal import language_of_terminal
from worker.console.prompt import bilingual_text, print_line, terminal_sentence


def verdict_name(verdict: RepairVerdict) -> str:
    return words.word("verdict", verdict, language_of_terminal())


def host_task_state_name(cell: str) -> str:
    return words.word("state.host_task", cell, language_of_terminal())


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
        mark = host_task_state_name(HostTaskState.OK if each["is_ok"] else HostTaskState.FAILED)
        print_line(
            f"  [{mark}] {terminal_sentence(cluster, str(each['code']), dict(each.get('data') or {}))}"
        )
