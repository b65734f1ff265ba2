"""The services' user of an installed host plays all its moves: against the scheduler, task workers and repairs there.

Its rows are PostgreSQL's, and it speaks to Redis by the password of task workers. Afterwards the host's state and
database are put back as they were.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adversaries import audit_moves
from tests.adversaries.service_moves import MOVES
from tests.hosts.appliance.installer.ansible_runs import ROOT, note
from tests.hosts.appliance.repair_scenarios import SERVICES, Break, Mender
from tests.hosts.appliance.test_repairs import host as host
from tests.hosts.appliance.test_repairs import mender as mender
from tests.hosts.machines.testbed import Host

pytestmark = pytest.mark.long

DATABASE = "postgresql postgresql@$(pg_lsclusters -h | awk 'NR == 1 {print $1 \"-\" $2}')"
"""With the cluster's own unit: the one of all clusters neither waits for its end nor says that it did not start."""
STOP = f"systemctl stop 'groundcrew-*' 'gc-*' redis-server@groundcrew {DATABASE}"
START = f"systemctl reset-failed; systemctl start {DATABASE} redis-server@groundcrew {SERVICES}"
FOLDERS = "var/lib/groundcrew var/lib/postgresql"
KEPT, TREE = "/var/tmp/before-moves.tar", "/var/tmp/moves"
KEEP = f"{STOP} && tar -C / --xattrs --acls -cpf {KEPT} {FOLDERS}; kept=$?; {START}; exit $kept"
PUT_BACK = (
    f"{STOP}; cd /; rm -rf {FOLDERS}; tar -C / --xattrs --acls -xpf {KEPT} && rm -rf {KEPT} {TREE}; {START}"
)
SLOTS = "/run/systemd/system/groundcrew-agent.service.d/slots.conf"
MORE_UNITS = f"""set -e; mkdir -p $(dirname {SLOTS})
printf '[Service]\\nEnvironment=GROUNDCREW_CPU_SLOTS=6\\n' > {SLOTS}
systemctl daemon-reload; systemctl restart groundcrew-agent"""
"""Three jobs run at once, also on a small machine."""
BRING = f"""set -e; rm -rf {TREE}; mkdir -p {TREE}/tests; cd {ROOT}/tests
cp -r __init__.py builders.py adversaries machine {TREE}/tests; chmod -R a+rX {TREE}"""
PLAY = f"""set -a; . /etc/groundcrew/groundcrew.env; . /etc/groundcrew/scheduler.env; cd {TREE}; PYTHONPATH={TREE}
/opt/groundcrew/current/bin/python -B -m tests.adversaries."""
HEALTHY = "curl -skf https://localhost/health | grep -q ok"
REPAIR = Break("restart-worker-agent", "", "true")
LEAST_RUN = 15
"""Moves that do not keep the job from running."""
LEAST_MUTANTS = 8


@pytest.fixture(scope="module")
def installed_host(mender: Mender) -> Iterator[Host]:
    """With units for three jobs; as it was, afterwards."""
    host = mender.host
    host.ask(KEEP)
    try:
        host.wait_until(HEALTHY)
        host.ask(MORE_UNITS)
        host.wait_until(
            "runuser -u groundcrew -- psql -At groundcrew -c 'select count(*) from units' | grep -x 6"
        )
        host.ask(BRING)
        yield host
    finally:
        host.ask(f"rm -rf {SLOTS}; systemctl daemon-reload")
        host.ask(PUT_BACK)
        host.wait_until(HEALTHY)


@pytest.fixture(scope="module")
def played(installed_host: Host) -> dict[str, dict[str, Any]]:
    """By the name of the move."""
    lines = lines_of(installed_host.ask(f"{PLAY}installed {TREE}"))
    note(f"{len(lines)} moves on an installed host: {sum(line['seconds'] for line in lines):.0f} s")
    return {line["move"]: line for line in lines}


def lines_of(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def audit_played(installed_host: Host) -> list[dict[str, Any]]:
    """What the database and `groundcrew-audit verify` said of each move against the access log."""
    lines = lines_of(installed_host.ask(f"{PLAY}installed_audit"))
    assert lines[0] == {"found": ""}
    return lines[1:]


@pytest.mark.parametrize("name", MOVES)
def test_nothing_changes_outside_of_what_is_the_services(
    name: str, played: dict[str, dict[str, Any]]
) -> None:
    assert played[name]["changes"] == []


def test_most_jobs_have_run_all_the_same(played: dict[str, dict[str, Any]]) -> None:
    assert sum(each["has_run"] for each in played.values()) >= LEAST_RUN


def test_a_repair_and_the_scheduler_go_on_and_the_machine_is_as_it_was(
    played: dict[str, dict[str, Any]], installed_host: Host, mender: Mender
) -> None:
    assert mender.mend(REPAIR).verdict == "verified"
    told = json.loads(installed_host.ask(f"{PLAY}installed compare"))
    assert told == {"machine": [], "is_alive": True}


def test_each_change_of_the_access_log_is_refused_by_the_database_or_named_by_its_check(
    audit_played: list[dict[str, Any]],
) -> None:
    lines = {line["move"]: line for line in audit_played if "move" in line}
    assert set(audit_moves.MOVES) < set(lines)
    let_through = {name for name, line in lines.items() if not line["refusal"]}
    assert let_through == audit_moves.LET_THROUGH
    assert {name for name, line in lines.items() if line["found"]} == let_through
    assert {name: line["left"] for name, line in lines.items() if line["left"]} == {}


def test_no_entry_and_no_fact_stops_the_seals_of_the_installed_scheduler(
    audit_played: list[dict[str, Any]],
) -> None:
    """What an honest service adds after them is sealed, and a change of it is found."""
    hindrances = [line for line in audit_played if "hindrance" in line]
    assert {line["hindrance"] for line in hindrances} == set(audit_moves.HINDRANCES)
    assert all("invalid" in line["refusal"] for line in hindrances if line["refusal"]), hindrances
    (honest,) = (line for line in audit_played if "honest" in line)
    assert (honest["is_sealed"], honest["found"]) == (True, ""), honest
    (edited,) = (line for line in audit_played if "edited" in line)
    assert str(edited["edited"]) in edited["found"], edited


def test_a_protection_that_is_missing_on_the_host_is_seen(
    installed_host: Host,
) -> None:
    """Without that a list of moves proves nothing."""
    lines = lines_of(installed_host.ask(f"{PLAY}installed_mutants {TREE}"))
    assert len(lines) >= LEAST_MUTANTS
    note("\n".join(f"    {line['mutant']}: {line['seen']}" for line in lines))
    assert [line["mutant"] for line in lines if not line["seen"]] == []
