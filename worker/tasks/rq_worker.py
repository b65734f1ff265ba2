"""The RQ worker that runs operations. It obeys no commands over Redis, and its own end ends the processes that it has
started.
"""

import signal
import sys

from redis import Redis
from rq import Worker
from rq.serializers import JSONSerializer

from cluster.domain.states import TaskQueue
from cluster.event_bus import connect_redis
from cluster.gc_freeze import freeze_startup_objects
from cluster.settings import Settings
from worker.tasks.queue_entries import OperationJob
from worker.tasks.worker_processes import WorkerProcesses, end_own_group, end_with_parent


class OperationWorker(Worker):
    """Serves one queue, obeys no commands over Redis, and continues within seconds after Redis was away."""

    max_connection_wait_time = 2.0
    log_result_lifespan = False

    def subscribe(self) -> None:
        """RQ's channel for commands (stop a job, shut down) stays closed."""

    def handle_warm_shutdown_request(self) -> None:
        """Ends at once and does not wait for a build, because the operation is taken up again from its row."""
        if self.horse_pid:
            self.kill_horse()

    def setup_work_horse_signals(self) -> None:
        """A work horse whose worker was killed ends with all processes that it has started. The operation is taken up
        again from its row.
        """
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGTERM, end_own_group)
        end_with_parent(self.pid or 0)


def make_rq_worker(queue: str, connection: Redis) -> OperationWorker:
    return OperationWorker(
        [queue], connection=connection, job_class=OperationJob, serializer=JSONSerializer,
        log_job_description=False,
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """`python -m worker tasks QUEUE…`: one queue in this process, several in a fork of it each."""
    if not arguments or not set(arguments) <= set(TaskQueue):
        sys.stderr.write(f"usage: python -m worker tasks {'|'.join(TaskQueue)}…\n")
        return 2
    settings = Settings.from_environment()
    # This is done once here, because each worker and each work horse is a fork of this process and shares its modules.
    freeze_startup_objects()

    def work(queue: str) -> None:
        make_rq_worker(queue, connect_redis(settings.redis_url)).work(logging_level="WARNING")

    if len(arguments) > 1:
        return WorkerProcesses(arguments, work).run()
    work(arguments[0])
    return 0
