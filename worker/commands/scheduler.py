"""``python -m worker scheduler`` runs the scheduler until SIGTERM. Attempts go on without it."""

import signal
import sqlite3
from contextlib import suppress
from dataclasses import replace

from cluster.event_bus import RedisEventBus, connect_redis
from cluster.gc_freeze import freeze_startup_objects
from cluster.settings import Settings
from worker.adapters.job_runtime import install_runtime
from worker.composition import open_cluster, open_shim_starter
from worker.executors.factory import open_executor
from worker.scheduling.loop import SchedulerLoop, Wakeup

TOPICS = frozenset({"queue", "nodes", "workspaces"})


def run_scheduler(settings: Settings) -> None:
    cluster = open_cluster(settings)
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    executor = open_executor(cluster, runtime, open_shim_starter(settings))
    events = RedisEventBus(connect_redis(settings.redis_url))
    wakeup = Wakeup(connect_redis(settings.redis_url), TOPICS, events.origin)
    scheduler = SchedulerLoop(replace(cluster, events=events), executor, runtime, wakeup)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: scheduler.stop())
    freeze_startup_objects()
    with suppress(sqlite3.Error):  # The scheduler's first query reports the error.
        cluster.store.hold_open()
    scheduler.run()


def main(arguments: list[str]) -> int:
    run_scheduler(Settings.from_environment())
    return 0
