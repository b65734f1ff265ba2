"""groundcrew-console in a real terminal on a master, with portal, Redis and database down in turn: each comes back.

Installing takes most of the time; GROUNDCREW_INSTALLED_HOST names a host that is there already.
"""

import json
import os
from dataclasses import dataclass
from typing import Any

import pytest

from tests.console_menu import choose, leave
from tests.containers.engine import command_line
from tests.hosts.appliance.repair_scenarios import Mender, ask_rows
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender
from tests.integration.pseudo_terminal import a_terminal

pytestmark = pytest.mark.long

CONSOLE = ("exec", "-it", "-e", "LC_ALL=C.UTF-8", "-e", "TERM=xterm")
RECORDS = "/var/lib/groundcrew/repairs/records"


@dataclass(frozen=True)
class Down:
    """What is stopped by `command`, what the menu then says of it, and the repair that brings it back."""

    name: str
    command: str
    menu: str
    repair: str
    green: str
    """A line of the checks afterwards."""
    is_recorded_in_a_file: bool = False


DOWN = [
    Down(
        "portal",
        "systemctl stop groundcrew-portal.socket groundcrew-portal.service",
        "Portal    answers with error 502",
        "Restart the API",
        "] running: groundcrew-portal.service",
    ),
    Down(
        "redis",
        "systemctl stop redis-server@groundcrew",
        "Redis     does not answer",
        "Restart the master",
        "] Redis answers",
    ),
    Down(
        "database",
        "systemctl stop postgresql",
        "a file keeps the record",
        "Restart the master",
        "] the database answers",
        is_recorded_in_a_file=True,
    ),
]


@pytest.mark.parametrize("down", DOWN, ids=lambda down: down.name)
def test_what_is_down_comes_back(mender: Mender, down: Down) -> None:
    host, reason = mender.host, f"{down.name} is down"
    host.ask(down.command)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with a_terminal([command_line(), *CONSOLE, host.name, "groundcrew-console"], kept) as console:
        menu = choose(console, down.repair)
        assert down.menu in menu, menu
        console.expect("Nothing leaves it:")
        console.type(reason)
        console.expect(down.green)
        console.expect("Verified")
        console.expect("Number, or a letter:")
        leave(console)
    host.wait_until("curl -skf https://localhost/health | grep -q ok", 60)
    run = read_run(mender, reason)
    assert run["verdict"] == "verified" and not all(answer["is_ok"] for answer in run["before"]), run
    assert (run["operation_id"] is None) is down.is_recorded_in_a_file
    assert host.ask(f"ls {RECORDS}") == ""


def read_run(mender: Mender, reason: str) -> dict[str, Any]:
    """Also of a run whose record became a row only once the database was there again."""
    found: dict[str, Any] = json.loads(
        mender.host.ask(
            ask_rows(
                "select json_build_object('verdict', verdict, 'before', before, 'operation_id', operation_id) "
                f"from repair_runs where reason = '{reason}' order by id desc limit 1"
            )
        )
    )
    return found
