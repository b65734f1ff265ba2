"""What goes on while pages are read: jobs are submitted, start and end, and agents send heartbeats.

python -m tests.bench.portal_load.activity plan.json      until its standard input closes
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from cluster.services.nodes import node_tokens
from tests.bench.full_size.rows import node_facts, node_name, unit_identity
from tests.bench.full_size.sizes import UNITS_PER_NODE
from tests.bench.portal_load.full_installation import FullInstallation, SignedInPerson
from tests.bench.rest_clients import Client, Unexpected
from tests.installation import ROOT
from worker.commands.agent import HEARTBEAT_SECONDS

JOBS_PER_SECOND = 5.0
JOB_SECONDS = 2.0
HEARTBEATS_PER_SECOND = 500 / 30
"""Of all nodes together. Where this is less than all nodes send, as many nodes beat as keeps to it."""


def heartbeat_of(node_id: int) -> dict[str, Any]:
    units = [
        {
            "identity": unit_identity(node_id, position),
            "kind": "gpu",
            "position": position,
            "model": "H200",
            "memory_bytes": 141 * 2**30,
            "state": "ok",
            "island": f"nvlink-{position // 4}",
        }
        for position in range(UNITS_PER_NODE)
    ]
    return {"boot_id": f"boot-{node_id}", "facts": node_facts(), "units": units}


@contextmanager
def ongoing_work(full: FullInstallation, submitter: SignedInPerson) -> Iterator[None]:
    """In a process of its own. Raises AssertionError at the end if a submission or a heartbeat was refused."""
    full.behave(JOB_SECONDS)
    beating = min(full.size.nodes, int(HEARTBEATS_PER_SECOND * HEARTBEAT_SECONDS))
    plan = {
        "port": full.port,
        "token": submitter.token,
        "training": full.training_id,
        "nodes": [
            [number, node_tokens.create_node_token(full.cluster, node_name(number), True)]
            for number in range(1, beating + 1)
        ],
        "heartbeat_seconds": HEARTBEAT_SECONDS,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        command = [sys.executable, "-m", "tests.bench.portal_load.activity", file.name]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            yield
        finally:
            said, _ = process.communicate()
    assert json.loads(said)["refused"] == [], said[:2000]


class Pace:
    """Calls something again and again, at even moments, until it is told to stop."""

    def __init__(self, per_second: float, act: Callable[[int], None]) -> None:
        self.per_second, self.act = per_second, act
        self.refused: list[str] = []
        self.done = 0

    def run(self, is_over: threading.Event) -> None:
        begun = time.monotonic()
        while not is_over.wait(max(0.0, begun + self.done / self.per_second - time.monotonic())):
            try:
                self.act(self.done)
            except (Unexpected, OSError) as trouble:
                self.refused.append(str(trouble)[:300])
            self.done += 1


def main(file: str) -> None:
    with open(file) as content:  # noqa: PTH123
        plan = json.load(content)
    is_over = threading.Event()
    with closing(Client(plan["port"], plan["token"])) as jobs, closing(Client(plan["port"], "")) as beats:
        body = {
            "training_id": plan["training"],
            "units": 1,
            "launcher": "plain",
            "command": ["sh", "true.sh"],
        }
        reports = [(heartbeat_of(number), token) for number, token in plan["nodes"]]

        def submit(turn: int) -> None:
            jobs.ask("POST", "/api/v1/jobs", body, 201)

        def beat(turn: int) -> None:
            report, token = reports[turn % len(reports)]
            beats.headers["Authorization"] = f"Bearer {token}"
            beats.ask("POST", "/api/v1/heartbeats", report, 204)

        paces = [Pace(JOBS_PER_SECOND, submit), Pace(len(reports) / plan["heartbeat_seconds"], beat)]
        threads = [threading.Thread(target=pace.run, args=(is_over,)) for pace in paces]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        is_over.set()
        for thread in threads:
            thread.join()
    refused = [line for pace in paces for line in pace.refused]
    print(json.dumps({"jobs": paces[0].done, "heartbeats": paces[1].done, "refused": refused[:20]}))


if __name__ == "__main__":
    main(sys.argv[1])
