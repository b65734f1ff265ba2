"""On servers every queue has its task worker and its doorbell; repairs, which hear no Redis, have others."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.domain.states import TaskQueue

ROLES = Path(__file__).resolve().parents[3] / "roles"
QUEUES = [queue.value for queue in TaskQueue if queue is not TaskQueue.REPAIR]


def defaults(role: str) -> Any:
    return yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text())


def test_a_task_worker_is_kept_for_every_queue() -> None:
    assert defaults("task_workers")["task_workers_queues"] == QUEUES


@pytest.mark.parametrize("queue", QUEUES)
def test_the_portal_may_ring_every_queue_and_none_of_the_repairs(queue: str) -> None:
    words = defaults("redis")["redis_users"]["portal"].split()
    assert f"~rq:queue:{queue}" in words
    assert f"~rq:queue:{TaskQueue.REPAIR}" not in words
