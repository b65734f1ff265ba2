"""Finds and ends orphan runs: runs without a live attempt, as after a restore or when their fence is stale."""

import structlog

from cluster.services.context import Cluster
from cluster.services.jobs import live_attempts
from worker.executors.contract import Executor, ExecutorUnreachable

log = structlog.get_logger()


class OrphanRuns:
    def __init__(self, cluster: Cluster, executor: Executor) -> None:
        self.cluster, self.executor = cluster, executor
        self.executor_problem: ExecutorUnreachable | None = None
        """Why the executor could not say at the last look what runs."""

    def end_all(self) -> int | None:
        """How many there were; None where the executor cannot tell.

        The runs are listed before the rows: each had its row first, so that one which another scheduler has just
        started is never taken for a stray.
        """
        try:
            runs = self.executor.list_running()
            known = {
                (attempt.job_id, attempt.number) for attempt in live_attempts.list_live_attempts(self.cluster)
            }
            strays = [run for run in runs if (run.job, run.attempt) not in known]
            for run in strays:
                log.warning("a stray run is ended", job=run.job, attempt=run.attempt)
                self.executor.kill(run.handle)
            self.executor.remove_ended_except(known)
        except ExecutorUnreachable as silence:
            log.warning("the executor does not answer", code=silence.code, **silence.data)
            self.executor_problem = silence
            return None
        self.executor_problem = None
        return len(strays)
