"""P10: from the click on a repair to its first Ansible event, on the embedded set: in chromium, and by REST beside it.

python -m tests.bench.repairs.first_event [REPEATS]

A click in the browser, the same by REST and a bare ansible-playbook take turns. Prints each step's median and spread
and a line for docs/measurements/repairs.md. The repair checks the access log: it changes nothing, and its playbook has
two tasks.
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

from cluster.services.people import api_tokens, passwords
from cluster.settings import Settings
from tests.bench import machine
from tests.bench.bench_installation import wait_until
from tests.bench.repairs import chromium_timing
from tests.bench.rest_clients import Client
from tests.browser.conftest import NO_CHROMIUM, find_chromium, launched
from tests.browser.journey import PASSWORD
from tests.browser.repair_pages import RepairPages, pages_of_repairs
from tests.builders import actor_of, an_administrator
from tests.installation import Installation, an_installation
from worker.adapters.playbooks import CLONE
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file

REPAIR = "verify-access-log"
PERSON = "benchmark"
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


@dataclass(frozen=True)
class Turn:
    """Seconds, in chromium and of the bare playbook; and the click by REST."""

    seen: float
    rest: Click
    bare: float


def main(arguments: list[str]) -> int:
    repeats = int(arguments[0]) if arguments else REPEATS
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit(NO_CHROMIUM)
    busy = machine.busy_share(1.0)
    with an_installation() as installation, launched(chromium) as browser:
        installation.up()
        token = token_of(installation)
        with pages_of_repairs(browser, f"http://127.0.0.1:{installation.port}", PERSON) as pages:
            chromium_timing.watch(pages.page)
            # The first turn of each brings what is read and compiled once.
            turns = [take_turns(pages, token, installation) for _ in range(repeats + 1)][1:]
    return say(turns, busy)


def token_of(installation: Installation) -> str:
    """Of a person who can sign in as well."""
    cluster = open_cluster(Settings.from_environment(read_settings_file(installation.places.settings_file)))
    try:
        person = an_administrator(cluster, PERSON)
        actor = actor_of(person)
        passwords.use_password_link(
            cluster, passwords.issue_password_link(cluster, actor, person.id), PASSWORD
        )
        return api_tokens.create_api_token(cluster, actor, PERSON, ["repair"], 1)[1]
    finally:
        cluster.store.close()


def take_turns(pages: RepairPages, token: str, installation: Installation) -> Turn:
    seen = chromium_timing.click(pages, REPAIR)
    # A connection that was silent meanwhile is not kept.
    client = Client(installation.port, token)
    rest = click(client, installation)
    client.close()
    return Turn(seen, rest, bare_seconds(installation))


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
    folder = installation.places.state_dir / "repairs" / str(run["id"])
    lasted = (folder / "exit.json").stat().st_mtime - (folder / "started").stat().st_mtime
    return Click(answered, first, lasted)


def bare_seconds(installation: Installation) -> float:
    """The same playbook by ansible-playbook, with the inventory and the environment of the last run."""
    folder = max((installation.places.state_dir / "repairs").glob("[0-9]*"), key=lambda path: int(path.name))
    environment = environment_of(folder)
    program = Path(environment["PATH"].partition(":")[0]) / "ansible-playbook"
    playbook = CLONE / "ansible" / "playbooks" / "repair" / f"{REPAIR}.yml"
    begun = time.perf_counter()
    subprocess.run(
        [program, "-i", folder / "inventory", playbook],
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # Playwright leaves ours in a state that Ansible refuses.
        stderr=subprocess.PIPE,
    )
    return time.perf_counter() - begun


def environment_of(folder: Path) -> dict[str, str]:
    found: Mapping[str, str] = json.loads((folder / "request.json").read_text())["environment"]
    return dict(found)


def say(turns: Sequence[Turn], busy: float) -> int:
    steps = {
        "first event in chromium": [each.seen for each in turns],
        "answered by REST": [each.rest.answered for each in turns],
        "first event by REST": [each.rest.first_event for each in turns],
        "playbook's process": [each.rest.playbook for each in turns],
        "bare ansible-playbook": [each.bare for each in turns],
    }
    for name, seconds in steps.items():
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        print(f"{name:<24} {middle_and_most(seconds)}, {spread} s, n = {len(seconds)}")
    seen, rest = steps["first event in chromium"], steps["first event by REST"]
    times = statistics.median(steps["playbook's process"]) / statistics.median(steps["bare ansible-playbook"])
    load, day = os.getloadavg()[0], datetime.now(UTC).date().isoformat()
    print(f"{busy:.0%} of the machine in use before, load {load:.1f} at the end")
    print(
        f"- {day}, load {load:.1f}: {len(turns)} clicks in chromium, {middle_and_most(seen)}; "
        f"as many by REST, {middle_and_most(rest)}; {times:.2f} times a bare ansible-playbook"
    )
    return 0 if share(seen, 0.95) <= GOAL and times <= OVERHEAD else 1


def middle_and_most(seconds: Sequence[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s, p95 {share(seconds, 0.95):.2f} s"


def share(seconds: Sequence[float], part: float) -> float:
    """The value below which this part of them lies."""
    known = sorted(seconds)
    return known[min(len(known) - 1, int(part * len(known)))]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
