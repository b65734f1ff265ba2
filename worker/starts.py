"""Begins placed attempts: what they need is read for many at once, and the executor is asked for several at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from cluster.domain.errors import Refused
from cluster.domain.resuming import Resume
from cluster.services import attempts, storage
from cluster.services.context import Cluster
from cluster.services.leases import Held
from cluster.services.living import LivingAttempt
from worker.executors.contract import Executor, Handle, NotStarted
from worker.resuming import find_again
from worker.start_plans import Loaded, load, read_start_plan

AT_ONCE = 8
LOADED_AT_ONCE = 32
"""Attempts whose rows are read together; the executor has been asked for these before the next ones are read."""
Start = Future[Handle | None]


class Starts:
    """Keeps nothing: whoever was asked for and has not begun is found again in the rows."""

    def __init__(self, cluster: Cluster, executor: Executor, runtime: Path) -> None:
        self.cluster = cluster
        self.executor = executor
        self.runtime = runtime
        self.askers = ThreadPoolExecutor(AT_ONCE, "start")

    def begin(
        self, held: Held, to_start: Sequence[LivingAttempt], renew: Callable[[], object]
    ) -> Iterator[tuple[LivingAttempt, Start]]:
        """Each with the executor's answer to come. `renew` is called before each, for many take a while."""
        for first in range(0, len(to_start), LOADED_AT_ONCE):
            some = to_start[first : first + LOADED_AT_ONCE]
            loaded = load(self.cluster, [attempt.attempt_id for attempt in some])
            asked = []
            for attempt in some:
                renew()
                asked.append((attempt, self.intend(held, attempt, loaded)))
            yield from asked

    def intend(self, held: Held, attempt: LivingAttempt, loaded: Loaded) -> Start:
        """The intention is written before the executor is asked."""
        resume = find_again(self.cluster.settings, attempt) if attempt.resume_from else None
        start = self.prepare(attempt, resume, loaded)
        attempts.record_starting(self.cluster, held, attempt.attempt_id, resume)
        return self.askers.submit(start)

    def prepare(
        self, attempt: LivingAttempt, resume: Resume | None, loaded: Loaded
    ) -> Callable[[], Handle | None]:
        """A disk that is full or away, or a row that is not ours, lets this one start fail and holds up nobody else."""
        try:
            plan = read_start_plan(self.cluster, self.runtime, attempt.attempt_id, resume, loaded)
            storage.ensure_workspace_folder(self.cluster.settings, attempt.workspace_id)
        except OSError as error:
            return partial(refuse, "start.failed", reason=str(error))
        except Refused as refusal:
            return partial(refuse, refusal.code, **refusal.data)
        return partial(self.executor.start, plan)


def refuse(code: str, **data: Any) -> Handle:
    """Raises NotStarted."""
    raise NotStarted(code, **data)
