"""Lets several calls go at the same moment: what each came to, in order."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PATIENCE_SECONDS = 60


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Results and exceptions, one for each call."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        start.wait(PATIENCE_SECONDS)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(run, call) for call in calls]
        return [future.exception(PATIENCE_SECONDS) or future.result() for future in futures]
