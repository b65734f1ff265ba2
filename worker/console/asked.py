"""A repair with the database there: asked for as the portal does, and run here where no task worker takes it up."""

import threading
from datetime import timedelta
from time import sleep

import structlog
from sqlalchemy.exc import SQLAlchemyError

from cluster.domain.errors import Conflict
from cluster.domain.people import Actor
from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import read_catalogue
from cluster.services.repairs import cancel_repair, read_run
from cluster.store.repairs import RepairRun
from worker.console.matrix import Matrix, show_checks, verdict_word
from worker.console.terminal import line, said, say
from worker.tasks.run import run_claimed

log = structlog.get_logger()
LOOK_SECONDS = 0.3
TAKE_UP = timedelta(seconds=5)
"""So long a task worker has the first turn."""


class Following:
    """One run, from its row alone; ends when the row says so."""

    def __init__(self, cluster: Cluster, actor: Actor, run: RepairRun, is_alone: bool) -> None:
        self.cluster, self.actor, self.run = cluster, actor, run
        self.is_alone = is_alone
        """Whether no task worker can hear of it."""
        entry = read_catalogue(cluster).get(run.name)
        self.matrix = Matrix(entry.repair if entry else None)
        self.hands: threading.Thread | None = None
        self.was_away = False

    def follow(self) -> RepairRun:
        say("Repair {run} was asked for. Ctrl-C cancels it.", run=self.run.id)
        while not self.has_ended():
            try:
                self.look()
                sleep(LOOK_SECONDS)
            except KeyboardInterrupt:
                self.cancel()
        if self.hands is not None:
            self.hands.join()
        self.show_end()
        return self.run

    def has_ended(self) -> bool:
        operation = self.run.operation
        given_up = operation is not None and operation.state is OperationState.INTERRUPTED
        return self.run.ended_at is not None or given_up

    def look(self) -> None:
        """A database that this very repair restarts may be away for a while."""
        try:
            self.run = read_run(self.cluster, self.actor, self.run.id)
        except SQLAlchemyError:
            if not self.was_away:
                say("The database does not answer now; waiting for it.")
            self.was_away = True
            return
        self.was_away = False
        self.matrix.show(self.run.tasks)
        is_free = self.hands is None or not self.hands.is_alive()
        if is_free and self.waits_for_hands():
            say("This console runs it itself.")
            self.hands = threading.Thread(target=self.work, name="repair", daemon=True)
            self.hands.start()

    def waits_for_hands(self) -> bool:
        operation, now = self.run.operation, self.cluster.clock()
        if operation is None:
            return False
        if operation.state is OperationState.REQUESTED:
            return self.is_alone or now - operation.requested_at > TAKE_UP
        lease = operation.lease_until if operation.state is OperationState.RUNNING else None
        return lease is not None and now > lease + TAKE_UP

    def work(self) -> None:
        """A database that goes away in between leaves the row as it is: it is taken up again."""
        assert self.run.operation_id is not None
        try:
            run_claimed(self.cluster, self.run.operation_id)
        except SQLAlchemyError as error:
            log.warning("the database is away", error=str(error))

    def cancel(self) -> None:
        if self.run.cancel_asked_at is None:
            say("It is asked to end. Ctrl-C once more ends it by force.")
        try:
            cancel_repair(self.cluster, self.actor, self.run.id)
        except (Conflict, SQLAlchemyError) as error:
            # It has ended meanwhile, or the next look says what is the case with the database.
            log.warning("not cancelled", error=str(error))

    def show_end(self) -> None:
        show_checks(self.cluster, self.run.checks)
        operation = self.run.operation
        if operation is not None and operation.error_code:
            line(said(self.cluster, operation.error_code, operation.error_data))
        if self.run.verdict is not None:
            line(verdict_word(self.run.verdict))
