"""The portal's processes: forks of a parent that has opened nothing, each followed by another when it ends."""

import os
import signal

import httpx
import psutil

from tests.integration.portal.conftest import Portal
from tests.integration.worker.executors.conftest import until

WORKERS = min(2, len(os.sched_getaffinity(0)))


def test_a_killed_process_is_replaced_while_requests_are_answered(lone_portal: Portal) -> None:
    parent = psutil.Process(lone_portal.process.pid)
    until(lambda: len(parent.children()) == WORKERS)
    first = parent.children()
    os.kill(first[0].pid, signal.SIGKILL)
    url = f"http://127.0.0.1:{lone_portal.port}/health"

    def is_replaced() -> bool:
        assert httpx.get(url, timeout=20, trust_env=False).json()["status"] == "ok"
        return len({*parent.children()} - {*first}) == 1 and len(parent.children()) == WORKERS

    until(is_replaced)


def test_the_parent_has_no_connection_that_its_processes_would_share(portal: Portal) -> None:
    parent = psutil.Process(portal.process.pid)
    database = portal.cluster.store.url.database

    def has_database(process: psutil.Process) -> bool:
        return database in {file.path for file in process.open_files()}

    until(lambda: len(parent.children()) == WORKERS and all(map(has_database, parent.children())))
    assert not has_database(parent)
    # One that it listens on, none to Redis.
    assert [each.status for each in parent.net_connections("inet")] == [psutil.CONN_LISTEN]
    assert not [each for each in parent.net_connections("unix") if "redis" in str(each.raddr or each.laddr)]
    assert parent.num_threads() == 1
