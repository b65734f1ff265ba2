"""P10: from the click on a repair to its first Ansible event, on the embedded set, by the product's own REST.

python -m tests.bench.first_event [REPEATS]

Prints each step's median and spread and a line for docs/measurements/repairs.md. The repair checks the access log: it
changes nothing, and its playbook has two tasks. What a browser adds is the ring on its open stream and one small page.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cluster.services import tokens
from cluster.settings import Settings
from tests.bench import machine
from tests.bench.clients import Client
from tests.bench.house import wait_until
from tests.builders import actor_of, an_administrator
from tests.installation import Installation, an_installation
from worker.adapters.playbooks import CLONE
from worker.embedded.settings_file import read_settings
from worker.wiring import open_cluster

REPAIR = "verify-access-log"
REPEATS = 20
GOAL = 1.0
"""Seconds, of the 95th percentile."""
OVERHEAD = 1.5
"""Times the seconds of a bare ansible-playbook."""
PAUSE = 0.02
WITHIN = 120


@dataclass(frozen=True)
class Click:
    """Seconds since the click: until it was answered, until a cell of the matrix showed, until the playbook's end."""

    answered: float
    first_event: float
    playbook: float
    """Of the playbook's process alone."""


def main(arguments: list[str]) -> int:
    repeats = int(arguments[0]) if arguments else REPEATS
    busy = machine.busy_share(1.0)
    with an_installation() as installation:
        installation.up()
        client = Client(installation.port, token_of(installation))
        clicks = [click(client, installation) for _ in range(repeats + 1)][1:]
        bare = [bare_seconds(installation) for _ in range(repeats)]
        client.close()
    return say(clicks, bare, busy)


def token_of(installation: Installation) -> str:
    cluster = open_cluster(Settings.from_environment(read_settings(installation.places.environment_file)))
    try:
        actor = actor_of(an_administrator(cluster, "benchmark"))
        return tokens.create_token(cluster, actor, "benchmark", ["repair"], 1)[1]
    finally:
        cluster.store.close()


def click(client: Client, installation: Installation) -> Click:
    seen = client.ask("GET", f"/api/v1/repairs/{REPAIR}")
    body = {"etag": seen["etag"], "reason": "measured"}
    begun = time.perf_counter()
    run = client.ask("POST", f"/api/v1/repairs/{REPAIR}", body, expected=201)
    answered = time.perf_counter() - begun

    def read() -> dict[str, Any]:
        found: dict[str, Any] = client.ask("GET", f"/api/v1/repairs/runs/{run['id']}")
        return found

    wait_until(lambda: any(task["hosts"] for task in read()["tasks"]), WITHIN, "the first event", PAUSE)
    first = time.perf_counter() - begun
    wait_until(lambda: read()["verdict"], WITHIN, "the verdict", PAUSE)
    assert read()["verdict"] == "verified", read()
    folder = installation.places.state / "repairs" / str(run["id"])
    lasted = (folder / "exit.json").stat().st_mtime - (folder / "started").stat().st_mtime
    return Click(answered, first, lasted)


def bare_seconds(installation: Installation) -> float:
    """The same playbook by ansible-playbook, with the inventory and the environment of the last run."""
    folder = max((installation.places.state / "repairs").glob("[0-9]*"), key=lambda path: int(path.name))
    environment = environment_of(folder)
    program = Path(environment["PATH"].partition(":")[0]) / "ansible-playbook"
    playbook = CLONE / "ansible" / "playbooks" / "repair" / f"{REPAIR}.yml"
    begun = time.perf_counter()
    subprocess.run(
        [program, "-i", folder / "inventory", playbook],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - begun


def environment_of(folder: Path) -> dict[str, str]:
    found: Mapping[str, str] = json.loads((folder / "request.json").read_text())["environment"]
    return dict(found)


def say(clicks: Sequence[Click], bare: Sequence[float], busy: float) -> int:
    steps = {
        "answered": [each.answered for each in clicks],
        "first Ansible event": [each.first_event for each in clicks],
        "playbook's process": [each.playbook for each in clicks],
        "bare ansible-playbook": list(bare),
    }
    for name, seconds in steps.items():
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        middle, most = statistics.median(seconds), share(seconds, 0.95)
        print(f"{name:<24} median {middle:.2f} s, p95 {most:.2f} s, {spread} s, n = {len(seconds)}")
    first, times = share(steps["first Ansible event"], 0.95), ratio(steps)
    load, day = os.getloadavg()[0], datetime.now(UTC).date().isoformat()
    print(f"{busy:.0%} of the machine in use before, load {load:.1f} at the end")
    middle = statistics.median(steps["first Ansible event"])
    print(
        f"- {day}, load {load:.1f}: {len(clicks)} clicks, median {middle:.2f} s, p95 {first:.2f} s; "
        f"{times:.2f} times a bare ansible-playbook"
    )
    return 0 if first <= GOAL and times <= OVERHEAD else 1


def ratio(steps: Mapping[str, Sequence[float]]) -> float:
    return statistics.median(steps["playbook's process"]) / statistics.median(steps["bare ansible-playbook"])


def share(seconds: Sequence[float], part: float) -> float:
    """The value below which this part of them lies."""
    known = sorted(seconds)
    return known[min(len(known) - 1, int(part * len(known)))]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
