"""HyperQueue's server, one worker and a client in one process, told what to do by lines of JSON.

Runs in the environment of requirements/bench.txt, not in ours: it imports nothing of the product.
"""

import json
import logging
import os
import sys
import tempfile
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig


def submit(client, tasks, argv, stdout, last):
    """`stdout` is a path in which %{TASK_ID} stands for the task's number, or null.

    `last` is where one more task, after all others, writes when it runs: the client itself asks only
    once a second whether a job has ended.
    """
    job = Job(max_fails=None)
    before = [job.program(argv, stdout=stdout, stderr=None) for _ in range(tasks)]
    if last:
        job.program(["date", "+%s.%N"], stdout=last, stderr=None, deps=before)
    begun = time.time()
    submitted = client.submit(job)
    return submitted, begun, time.time()


def main(slots):
    logging.disable(logging.CRITICAL)
    # The server prints a table of itself; answers go where the table does not.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with (
        tempfile.TemporaryDirectory(prefix="gc-hq-") as folder,
        LocalCluster(folder, WorkerConfig(cores=slots)) as cluster,
    ):
        client = cluster.client()
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(obey(client, json.loads(line))), file=answers, flush=True)


def obey(client, order):
    """When it was asked, accepted and, where that was waited for, ended."""
    asked = (order[key] for key in ("tasks", "argv", "stdout", "last"))
    submitted, begun, accepted = submit(client, *asked)
    answer = {"begun": begun, "accepted": accepted}
    if order["wait"]:
        client.wait_for_jobs([submitted])
        answer["ended"] = time.time()
        client.forget(submitted)
    return answer


if __name__ == "__main__":
    main(int(sys.argv[1]))
