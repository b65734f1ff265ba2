"""Starts placed attempts: reads the rows of many at once and calls the executor for several at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from cluster.domain.errors import Refused
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.jobs.live_attempts import LiveAttempt
from cluster.services.leases import HeldLease
from cluster.services.storage import folders, notebook_folders, registered_paths
from worker.executors.contract import Executor, Handle, NotStarted, start_problem_of
from worker.scheduling.starts.resume_points import find_start_point, require_start_point, start_from_copy
from worker.scheduling.starts.start_plan_builder import build_start_plan
from worker.scheduling.starts.start_rows import StartRows, read_start_rows

STARTS_AT_ONCE = 8
LOADED_AT_ONCE = 32
"""Attempts whose rows are read together; the executor has been asked for these before the next ones are read."""
PendingStart = Future[Handle | None]


class AttemptStarts:
    """Keeps nothing in memory: starts that were requested and have not begun are found again in the rows."""

    def __init__(self, cluster: Cluster, executor: Executor, runtime: Path) -> None:
        self.cluster = cluster
        self.executor = executor
        self.runtime = runtime
        self.pool = ThreadPoolExecutor(STARTS_AT_ONCE, "start")

    def start_all(
        self, held: HeldLease, to_start: Sequence[LiveAttempt], renew: Callable[[], object]
    ) -> Iterator[tuple[LiveAttempt, PendingStart]]:
        """Yields each attempt with its future answer of the executor. `renew` is called before each, because many
        starts take a while.
        """
        for first in range(0, len(to_start), LOADED_AT_ONCE):
            some = to_start[first : first + LOADED_AT_ONCE]
            loaded = read_start_rows(self.cluster, [attempt.attempt_id for attempt in some])
            yield from self.record_and_submit(held, some, loaded, renew)

    def record_and_submit(
        self, held: HeldLease, some: Sequence[LiveAttempt], loaded: StartRows, renew: Callable[[], object]
    ) -> list[tuple[LiveAttempt, PendingStart]]:
        """Records the starts before the executor is asked, and submits them to the pool."""
        resumes: dict[int, ResumePoint | None] = {}
        calls = []
        for attempt in some:
            renew()
            resume = find_start_point(self.cluster.settings, attempt)
            resumes[attempt.attempt_id] = resume
            calls.append((attempt, self.prepare_call(attempt, resume, loaded)))
        chosen = {attempt.attempt_id: loaded.environment_id_of(attempt.attempt_id) for attempt in some}
        attempts.record_starting(self.cluster, held, resumes, chosen)
        return [(attempt, self.pool.submit(call)) for attempt, call in calls]

    def prepare_call(
        self, attempt: LiveAttempt, resume: ResumePoint | None, loaded: StartRows
    ) -> Callable[[], Handle | None]:
        """Prepares the call of the executor. A disk that is full or does not answer, or a row that is not ours, makes
        this one start fail and delays no other.
        """
        try:
            plan = build_start_plan(self.cluster, self.runtime, attempt.attempt_id, resume, loaded)
            folders.ensure_workspace_folder(self.cluster.settings, attempt.workspace_id)
            notebook_folders.ensure_notebook_folders(
                self.cluster.settings, loaded.attempts[attempt.attempt_id]
            )
            require_start_point(attempt, resume)
        except OSError as error:
            return partial(raise_not_started, start_problem_of(str(error), error.errno))
        except Refused as refusal:
            return partial(raise_not_started, NotStarted(refusal.code, **refusal.data))
        except NotStarted as problem:
            return partial(raise_not_started, problem)
        dataset = loaded.attempts[attempt.attempt_id].job.dataset
        start: Callable[[], Handle | None] = partial(self.executor.start, plan)
        if resume is not None and resume.job is not None:
            start = partial(start_from_copy, self.executor, self.cluster.settings, plan, attempt, resume)
        return partial(self.start_checked, start, dataset.path if dataset else None)

    def start_checked(self, start: Callable[[], Handle | None], registered_path: str | None) -> Handle | None:
        """Runs in a thread of the pool, so that storage that hangs delays one start and not the scheduler."""
        try:
            registered_paths.check_path_at_start(self.cluster.settings, registered_path)
        except Refused as refusal:
            raise NotStarted(refusal.code, **refusal.data) from refusal
        return start()


def raise_not_started(problem: NotStarted) -> Handle:
    raise problem
