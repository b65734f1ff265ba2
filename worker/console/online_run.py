"""Follow a repair by its row, and run it in this process if no task worker takes it."""

import threading
from datetime import timedelta
from time import sleep

import structlog
from sqlalchemy.exc import SQLAlchemyError

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.services.repairs.repair_runs import cancel_repair, read_repair_run
from cluster.store.repairs import RepairRun
from worker.console.progress_table import ProgressTable, show_check_results, verdict_name
from worker.console.prompt import print_console_text, print_line, terminal_sentence
from worker.tasks.run import run_claimed

log = structlog.get_logger()
POLL_SECONDS = 0.3
TASK_WORKER_GRACE = timedelta(seconds=5)
"""The time in which a task worker may take the run before the console does."""


class OnlineRepairRun:
    """A run that is followed by its row. It ends when its row has an end."""

    def __init__(self, cluster: Cluster, actor: Actor, run: RepairRun, is_alone: bool) -> None:
        self.cluster, self.actor, self.run = cluster, actor, run
        self.has_no_task_worker = is_alone
        """Whether no task worker can take the run."""
        entry = list_offered_repairs(cluster).get(run.name)
        self.table = ProgressTable(entry.repair if entry else None)
        self.own_thread: threading.Thread | None = None
        self.was_database_away = False

    def follow(self) -> RepairRun:
        print_console_text("Repair {run} was asked for. Ctrl-C cancels it.", run=self.run.id)
        while not self.has_ended():
            try:
                self.refresh()
                sleep(POLL_SECONDS)
            except KeyboardInterrupt:
                self.cancel()
        if self.own_thread is not None:
            self.own_thread.join()
        self.show_result()
        return self.run

    def has_ended(self) -> bool:
        operation = self.run.operation
        given_up = operation is not None and operation.state is OperationState.INTERRUPTED
        return self.run.ended_at is not None or given_up

    def refresh(self) -> None:
        """Reads the row again. The database may not answer for a while if this repair restarts it."""
        try:
            self.run = read_repair_run(self.cluster, self.actor, self.run.id)
        except SQLAlchemyError:
            if not self.was_database_away:
                print_console_text("The database does not answer now; waiting for it.")
            self.was_database_away = True
            return
        self.was_database_away = False
        self.table.show(self.run.tasks)
        is_free = self.own_thread is None or not self.own_thread.is_alive()
        if is_free and self.needs_own_thread():
            print_console_text("This console runs it itself.")
            self.own_thread = threading.Thread(target=self.run_operation, name="repair", daemon=True)
            self.own_thread.start()

    def needs_own_thread(self) -> bool:
        operation, now = self.run.operation, self.cluster.clock()
        if operation is None:
            return False
        if operation.state is OperationState.REQUESTED:
            return self.has_no_task_worker or now - operation.requested_at > TASK_WORKER_GRACE
        lease = operation.lease_until if operation.state is OperationState.RUNNING else None
        return lease is not None and now > lease + TASK_WORKER_GRACE

    def run_operation(self) -> None:
        """Runs the operation. If the database goes away in between, the row stays as it is and the run is taken up
        again.
        """
        assert self.run.operation_id is not None
        try:
            run_claimed(self.cluster, self.run.operation_id)
        except SQLAlchemyError as error:
            log.warning("the database is away", error=str(error))

    def cancel(self) -> None:
        if self.run.cancel_requested_at is None:
            print_console_text("It is asked to end. Ctrl-C once more ends it by force.")
        try:
            cancel_repair(self.cluster, self.actor, self.run.id)
        except (Conflict, SQLAlchemyError) as error:
            # The run has ended, or the next reading shows what is wrong with the database.
            log.warning("the run is not cancelled", error=str(error))

    def show_result(self) -> None:
        show_check_results(self.cluster, self.run.checks)
        operation = self.run.operation
        if operation is not None and operation.error_code:
            print_line(terminal_sentence(self.cluster, operation.error_code, operation.error_data))
        if self.run.verdict is not None:
            print_line(verdict_name(self.run.verdict))
