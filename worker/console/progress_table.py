"""Print the progress of a repair run: each task of each host as it ends, then the checks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cluster import words
from cluster.domain.repairs.definition import Repair
from cluster.domain.repairs.run_matrix import HostTaskState, RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.services.repairs.offline_records import offline_record_file
from cluster.services.repairs.offline_runs import Data, FileRecorder
from cluster.store.repairs import RepairRun
from worker.bootstrap.terminal import language_of_terminal
from worker.console.prompt import bilingual_text, print_console_text, print_line, terminal_sentence
from worker.repairs.driver import STEP_PLAYBOOK, STEP_PREPARE


def verdict_name(verdict: RepairVerdict) -> str:
    return words.word("verdict", verdict, language_of_terminal())


def host_task_state_name(cell: str) -> str:
    return words.word("state.host_task", cell, language_of_terminal())


class ProgressTable:
    """Prints what has changed since the last call."""

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


class ConsoleRecorder(FileRecorder):
    """Records the run in its file and shows it on the terminal."""

    def __init__(self, cluster: Cluster, run: RepairRun) -> None:
        super().__init__(cluster, run)
        entry = list_offered_repairs(cluster).get(run.name)
        self.table = ProgressTable(entry.repair if entry else None)
        self.has_shown_cancel = False

    def read_run(self) -> RepairRun:
        if self.run.cancel_requested_at is not None and not self.has_shown_cancel:
            # The sentence is printed here, because the signal handler may interrupt another line.
            print_console_text("It is asked to end. Ctrl-C once more ends it by force.")
            self.has_shown_cancel = True
        return super().read_run()

    def record_step(self, step: str) -> None:
        if step == STEP_PREPARE:
            print_console_text("Preparing.")
        elif step == STEP_PLAYBOOK:
            print_console_text("Repair {run} has begun. Ctrl-C cancels it.", run=self.run.number)

    def record_tasks(self, tasks: Data, share: float) -> None:
        super().record_tasks(tasks, share)
        self.table.show(tasks)

    def record_end(self, verdict: RepairVerdict, rc: int | None, checks: Data, code: str = "") -> None:
        super().record_end(verdict, rc, checks, code)
        if code:
            print_line(terminal_sentence(self.cluster, code, {"host": self.run.host}))
        show_check_results(self.cluster, checks)
        print_line(verdict_name(verdict))
        path = offline_record_file(self.cluster, self.run)
        print_console_text("Its record is {path}; it is read in once the database answers.", path=path)
