"""Rules broken on purpose, each by a patch in the child process: the harness has to find every one."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.orm import Session

import cluster.services.jobs.submission
import worker.scheduling.reconciler
from cluster.domain.jobs.attempts import AttemptOutcome, StopAttempt
from cluster.domain.states import JobState
from cluster.services.jobs import attempts
from cluster.services.queue import dispatch
from cluster.store.audit import AuditEntry
from cluster.store.engine import Store
from cluster.store.jobs import Attempt, Job
from tests.crash.installation import Ground


def ring_before_commit(ground: Ground) -> None:
    """The bell is rung inside the transaction that it speaks of."""
    write = Store.write

    @contextmanager
    def early(self: Store, lock: str | None = None, is_long: bool = False) -> Iterator[Session]:
        with write(self, lock, is_long) as session:
            yield session
            session.flush()
            for row in list(session.identity_map.values()):
                if isinstance(row, Job):
                    ground.cluster.events.publish("jobs", row.id)

    Store.write = early  # type: ignore[assignment, method-assign]


def drop_fence_check(ground: Ground) -> None:
    """Whoever once held the lease goes on writing, whatever became of the attempt meanwhile."""

    def load(session: Session, attempt_ids: Collection[int]) -> list[Attempt]:
        return [session.get_one(Attempt, each) for each in attempt_ids]

    attempts.load_current_attempts = load
    for module in (attempts, dispatch):
        module.check_lease = lambda session, held: None  # type: ignore[attr-defined]


def free_units_before_the_end(ground: Ground) -> None:
    """A stop gives the units back at once, although the tree still runs."""
    act = worker.scheduling.reconciler.Reconciler.act

    def hasty(self: Any, held: Any, attempt: Any, sight: Any, truth: Any, action: Any) -> None:
        act(self, held, attempt, sight, truth, action)
        if isinstance(action, StopAttempt):
            outcome = AttemptOutcome(JobState.STOPPED, "exit.stopped", {})
            attempts.record_end(self.cluster, held, attempts.AttemptEnd(attempt.attempt_id, outcome))

    worker.scheduling.reconciler.Reconciler.act = hasty  # type: ignore[method-assign]


def forget_audit(ground: Ground) -> None:
    """A job is submitted and nobody writes down who did it."""
    insert = cluster.services.jobs.submission.insert_rows

    def forgetful(connection: Any, *rows: Any) -> None:
        insert(connection, *(row for row in rows if row[0] is not AuditEntry.__table__))

    cluster.services.jobs.submission.insert_rows = forgetful
